"""Faults of consume queues, one by one: the rows are those of the log, whatever a queue contains."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import pytest
from support.effort import mostly_long, thinned
from support.pruning import AccessRead
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.layout.queue_entry import FILLER_SIZE
from native_reader.predicate.tree import And, Column, Compare, IsNull, Not, Or, Predicate
from native_reader.testing.java import hash_code
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties

pytestmark = pytest.mark.usefixtures("queues_always_used")
T0, T1 = Compare(Column("topic"), "=", "T0"), Compare(Column("topic"), "=", "T1")
ENTRY = struct.Struct(">qiq")
QUEUE = f"store/consumequeue/T1/0/{0:020}"


def store(count: int = 60, **options: object) -> tuple[CommitLog, Files]:
    """Three topics of one queue each, in segments of 2 KiB."""
    log = log_of(numbered(map(message, range(count))))
    return log, files_of(log) | dispatched(log.placed, file=4000, **options)  # type: ignore[arg-type]


def entry(files: Files, number: int, name: str = QUEUE) -> tuple[int, int, int]:
    return ENTRY.unpack_from(files[name], 20 * number)


def changed(files: Files, number: int, *fields: int, name: str = QUEUE) -> Files:
    content = bytearray(files[name])
    ENTRY.pack_into(content, 20 * number, *fields)
    return files | {name: bytes(content)}


def agree(files: Files, *predicates: Predicate, known: bool = True, all_known: bool | None = None) -> list[AccessRead]:
    """All access paths that promise the same rows give them. `known`: every read trusted the queues."""
    found = []
    for predicate in predicates or (T0, T1, Not(T1), And((T1, Compare(Column("tags"), "=", "tag1")))):
        scanned, auto, trust = (AccessRead(files, predicate, access) for access in ("scan", "auto", "trust"))
        assert auto.rows == scanned.rows, str(predicate)
        assert trust.rows <= scanned.rows
        if known:
            assert not [line for line in auto.run.report.scanned if "most of it" not in line]
        if all_known:
            assert trust.rows == scanned.rows
        found.append(auto)
    return found


def test_a_store_without_faults() -> None:
    _, files = store()
    for looked in agree(files, T0, T1, all_known=True):
        assert looked.ways == {"auto"}
        assert looked.run.report.bytes_read < sum(map(len, files.values()))


def test_45_a_deleted_topic_is_in_the_ranges_that_no_queue_covers() -> None:
    log, files = store(deleted=["T1"])
    (looked,) = agree(files, T1)
    assert looked.rows.total() == 20
    assert AccessRead(files, T1, "trust").rows.total() == 0
    # Little more than its own records is left to read.
    kept = sum(placed.size for placed in log.placed if placed.message.topic == "T1")
    assert kept <= sum(segment.record_bytes for segment in looked.run.report.segments) <= kept + 200


@pytest.mark.parametrize("cut", [1, 19, 20, 21, 39, 200, 399])
def test_46_a_file_that_was_truncated(cut: int) -> None:
    _, files = store()
    agree(files | {QUEUE: files[QUEUE][:cut]})


def test_47_entries_of_expired_records() -> None:
    log, files = store()
    for base in range(0, 2048 * 2, 2048):
        del files[f"store/commitlog/{base:020}"]
    agree(files, all_known=True)
    assert AccessRead(files, T1, "auto").rows.total() == sum(
        placed.message.topic == "T1" and placed.offset >= 4096 for placed in log.placed
    )


def test_48_entries_after_the_end_of_the_log() -> None:
    log, files = store()
    for offset in (log.end, log.end + 10**6, 2**62):
        agree(changed(files, 20, offset, 100, 0))


def test_49_leading_blanks() -> None:
    later = [replace(each, queue_offset=each.queue_offset + 5) for each in numbered(map(message, range(60)))]
    log = log_of(later)
    files = files_of(log) | dispatched(log.placed, file=4000)
    assert [entry(files, number)[1] for number in range(6)] == [FILLER_SIZE] * 5 + [log.placed[1].size]
    agree(files, all_known=True)
    agree(files, And((T1, Compare(Column("queue_offset"), "<", 7))), all_known=True)


@pytest.mark.parametrize("number", [0, 3, 7, 19])
@pytest.mark.parametrize("change", ["offset", "size", "another record", "another queue's record"])
def test_50_an_entry_that_disagrees_with_its_record(number: int, change: str) -> None:
    _, files = store()
    offset, size, code = entry(files, number)
    other = {
        "offset": (offset + 1, size, code),
        "size": (offset, size + 1, code),
        "another record": (*entry(files, (number + 1) % 20)[:2], code),
        "another queue's record": (*entry(files, number, QUEUE.replace("T1", "T2"))[:2], code),
    }[change]
    agree(changed(files, number, *other), known=False)


def test_50_a_hash_changed_in_place_hides_a_row_and_invents_none() -> None:
    """Only a full read shows this row: test_what_auto_misses.py."""
    _, files = store()
    tagged = And((T1, Compare(Column("tags"), "=", "tag1")))
    offset, size, _ = entry(files, 3)
    lied = changed(files, 3, offset, size, hash_code("another"))
    scanned, auto = AccessRead(lied, tagged, "scan"), AccessRead(lied, tagged, "auto")
    assert scanned.rows - auto.rows == {(offset, None): 1}
    assert auto.rows <= scanned.rows
    # In the opposite case, an entry that selects too much is checked against its record.
    assert AccessRead(lied, And((T1, Compare(Column("tags"), "=", "another"))), "auto").rows.total() == 0


@pytest.mark.parametrize("written", [16, 17, 18, 19])
def test_50_the_newest_entry_is_found_before_its_hash_is_written_whole(written: int) -> None:
    _, files = store()
    assert entry(files, 19)[2] == hash_code("tag1")
    content = bytearray(files[QUEUE])
    content[19 * 20 + written : 20 * 20] = bytes(20 - written)
    agree(files | {QUEUE: bytes(content)}, And((T1, Compare(Column("tags"), "=", "tag1"))), all_known=True)


@pytest.mark.parametrize("number", [0, 3, 7, 19])
def test_51_zeros_in_a_queue(number: int) -> None:
    _, files = store()
    agree(changed(files, number, 0, 0, 0))


def test_52_an_empty_last_file() -> None:
    _, files = store()
    agree(files | {QUEUE[:-20] + f"{4000:020}": b"", QUEUE[:-20] + f"{8000:020}": bytes(4000)}, all_known=True)


@pytest.mark.parametrize("missing", range(5))
def test_53_a_missing_file(missing: int) -> None:
    log, files = store()
    files = files_of(log) | dispatched(log.placed, file=80)
    agree({name: content for name, content in files.items() if name != f"store/consumequeue/T1/0/{missing * 80:020}"})


def in_small_files(tune: Tune, at_once: int) -> Files:
    """Queues of several files with four entries each, which all point into one segment. They are searched, or read at once."""
    tune(queue_read_at_once=at_once)
    two = [replace(message(number), queue_id=number // 3 % 2) for number in range(120)]
    log = log_of(numbered(two), segment_size=32768)
    return files_of(log) | dispatched(log.placed, file=80)


def file_of(topic: str, queue_id: int, first: int) -> str:
    return f"store/consumequeue/{topic}/{queue_id}/{first * 20:020}"


OF_A_QUEUE = (
    *(T0, T1, Not(T1), And((T1, Compare(Column("queue_id"), "=", 0))), And((T1, Compare(Column("queue_id"), "=", 1)))),
    *(And((T1, Compare(Column("queue_offset"), "=", number))) for number in range(7, 13)),
)


@pytest.mark.gate
@pytest.mark.parametrize("at_once", [16 << 10, 40])
@pytest.mark.parametrize(
    "other", mostly_long([("T2", 0, 8), ("T2", 1, 4), ("T1", 1, 8), ("T1", 0, 12), ("T0", 1, 16)], ("T2", 0, 8), ("T0", 1, 16))
)
def test_53_two_files_in_the_middle_of_queues_were_swapped(tune: Tune, at_once: int, other: tuple[str, int, int]) -> None:
    files = in_small_files(tune, at_once)
    one, another = file_of("T1", 0, 8), file_of(*other)
    agree(files | {one: files[another], another: files[one]}, *OF_A_QUEUE, known=False)
    agree(files | {one: files[another]}, *OF_A_QUEUE, known=False)


@pytest.mark.parametrize("at_once", [16 << 10, 40])
@pytest.mark.parametrize("first", thinned([9, 7, 10, 0, 13, 1000], 3))
def test_53_a_file_in_the_middle_of_a_queue_was_renamed(tune: Tune, at_once: int, first: int) -> None:
    """Renamed by one entry, so each entry gets another number. Or renamed to the name of another file."""
    files = in_small_files(tune, at_once)
    content = files.pop(file_of("T1", 0, 8))
    agree(files | {file_of("T1", 0, first): content}, *OF_A_QUEUE, known=False)


def test_54_addresses_of_extensions_are_not_hashes() -> None:
    _, files = store()
    for number in range(20):
        offset, size, _ = entry(files, number)
        files = changed(files, number, offset, size, number * 50 - 2**63)
    tagged = Compare(Column("tags"), "=", "tag1")
    assert agree(files, And((T1, tagged)), all_known=True)[0].rows.total() == 20
    agree(files, Not(tagged), IsNull(Column("tags")), tagged)


def test_55_in_the_delay_topic_the_code_is_a_time() -> None:
    properties = pack_properties([("DELAY", "3"), ("TAGS", "later")])
    log = log_of(numbered(Message(topic="SCHEDULE_TOPIC_XXXX", queue_id=2, body=b"x", properties=properties) for _ in range(9)))
    files = files_of(log) | dispatched(log.placed)
    here = Compare(Column("topic"), "=", "SCHEDULE_TOPIC_XXXX")
    assert agree(files, And((here, Compare(Column("tags"), "=", "later"))), all_known=True)[0].rows.total() == 9


def test_56_light_queues_list_records_of_other_topics() -> None:
    properties = pack_properties([("INNER_MULTI_DISPATCH", "%LMQ%a"), ("TAGS", "x")])
    log = log_of(numbered(Message(topic=f"T{number % 2}", body=b"x", properties=properties) for number in range(20)))
    files = files_of(log) | dispatched(log.placed, file=4000)
    assert f"store/consumequeue/%LMQ%a/0/{0:020}" in files
    agree(files, T0, T1, all_known=True)
    assert agree(files, Compare(Column("topic"), "=", "%LMQ%a"))[0].rows.total() == 0


def test_57_batches_in_batch_queues() -> None:
    def batch(count: int) -> Message:
        units = [InnerMessage(b"%d" % number, pack_properties({"TAGS": f"tag{number}"})) for number in range(count)]
        return Message(topic="batched", body=pack_inner(units), sys_flag=INNER_BATCH)

    log = log_of(numbered([*map(message, range(9)), *(batch(count) for count in (3, 1, 4)), *map(message, range(9, 30))]))
    files = files_of(log) | dispatched(log.placed)
    here = Compare(Column("topic"), "=", "batched")
    tagged = Compare(Column("tags"), "=", "tag2")
    assert agree(files, here, all_known=True)[0].rows.total() == 8
    assert agree(files, And((here, tagged)), all_known=True)[0].rows.total() == 2
    assert agree(files, And((here, Compare(Column("queue_offset"), "=", 4))), all_known=True)[0].rows.total() == 1
    agree(files, T1, Or((tagged, T0)))


@pytest.mark.gate
@pytest.mark.parametrize("number", mostly_long(range(8), 0, 3, 4))
@pytest.mark.parametrize(("place", "fields", "changes"), [(36, ">h", (-3, -1, 1, 7)), (28, ">q", (-9, -4, -1, 1, 4, 64))])
def test_57_a_changed_count_or_first_queue_offset_in_a_batch_queue(number: int, place: int, fields: str, changes: tuple[int, ...]) -> None:
    units = [InnerMessage(b"%d" % unit, pack_properties({"TAGS": f"tag{unit}"})) for unit in range(5)]
    batch = Message(topic="batched", body=pack_inner(units), sys_flag=INNER_BATCH)
    log = log_of(numbered(each for other in range(8) for each in (batch, message(other))), segment_size=8192)
    files = files_of(log) | dispatched(log.placed)
    name = f"store/batchconsumequeue/batched/0/{number // 4 * 4 * 46:020}"
    for change in changes:
        content = bytearray(files[name])
        (before,) = struct.unpack_from(fields, content, 46 * (number % 4) + place)
        struct.pack_into(fields, content, 46 * (number % 4) + place, before + change)
        here = Compare(Column("topic"), "=", "batched")
        for wanted in range(5 * number - 6, 5 * number + 11, 2):
            agree(files | {name: bytes(content)}, And((here, Compare(Column("queue_offset"), "=", wanted))))


def test_58_queues_in_a_database_that_cannot_be_opened_are_not_read() -> None:
    log = log_of()
    files = files_of(log) | {"store/consumequeue/CURRENT": b"MANIFEST-000004\n", "store/consumequeue/000008.sst": b"x"}
    (looked,) = agree(files, T1)
    assert looked.ways == {"scan"}
    why = looked.plan.ways[0][1].why
    assert why is not None
    assert re.match(
        r"the consume queues cannot be read: the RocksDB database .*/store/consumequeue cannot be read: .* incomplete copy", why.text()
    )


@pytest.mark.parametrize("lag", [1, 10, 40, 60])
def test_59_queues_that_lag(lag: int) -> None:
    log = log_of(numbered(map(message, range(60))))
    files = files_of(log) | dispatched(log.placed, file=4000, until=log.placed[-lag].offset)
    agree(files or files_of(log))


def test_60_two_entries_for_one_record() -> None:
    _, files = store()
    twice = changed(changed(files, 8, *entry(files, 7)), 9, *entry(files, 8))
    agree(twice, known=False)
    assert set(AccessRead(twice, T1, "trust").rows.values()) == {1}


@pytest.mark.parametrize("topic", ["%RETRY%g", "%DLQ%g", "with space", "x" * 255, "ünïcode", "a#b?c", "50%25", "主题🚀"])
def test_61_odd_names(topic: str) -> None:
    named = [replace(message(number, **({"topic": topic} if number % 3 else {})), version=2) for number in range(40)]
    log = log_of(numbered(named), segment_size=8192)
    files = files_of(log) | dispatched(log.placed, file=4000)
    agree(files, Compare(Column("topic"), "=", topic), T0, all_known=True)


def test_a_topic_created_again_in_the_same_segment() -> None:
    log = log_of(numbered(map(message, range(30))), segment_size=8192)
    later = log_of([*(placed.message for placed in log.placed), *(placed.message for placed in log.placed)], segment_size=16384)
    files = files_of(later) | dispatched(later.placed[30:], file=4000)
    assert agree(files, T1)[0].rows.total() == 20
    assert AccessRead(files, T1, "trust").rows.total() == 10


def test_queues_of_two_topics_that_were_swapped() -> None:
    _, files = store()
    other = QUEUE.replace("T1", "T2")
    agree(files | {QUEUE: files[other], other: files[QUEUE]}, known=False)


def test_a_queue_deleted_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    _, files = store()
    storage = in_memory(dict(files))
    scan = nr.open(storage.url).messages(topic="T1", columns="physical_offset")
    expected = AccessRead(files, T1, "scan").rows
    scan.plan()
    for name in [name for name in files if "consumequeue" in name]:
        del storage.files[name]  # type: ignore[attr-defined]
    assert {(place, None): 1 for place in scan.to_table()["physical_offset"].to_pylist()} == expected
