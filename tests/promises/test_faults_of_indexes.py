"""Faults of index files, one by one: the rows are those of the log, whatever an index contains."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from support.indexed_stores import SLOTS, indexed, key_of_hash
from support.pruning import AccessRead
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.layout.index_entry import key_hash
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, Predicate
from native_reader.sides import index
from native_reader.sides.index import search
from native_reader.testing.java import hash_code
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import pack_properties

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
T1, KEY = Compare(Column("topic"), "=", "T1"), ArrayContains(Column("keys"), "k31")
UNIQUE = Compare(Column("msg_id"), "=", "U0031")
_ENTRIES = 40 + 4 * SLOTS


def store(count: int = 60, **options: object) -> tuple[CommitLog, Files]:
    """Three topics, in segments of 2 KiB, and index files of nine records each."""
    log = log_of(numbered(map(message, range(count))))
    return log, files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed, **options)  # type: ignore[arg-type]


def indexes(files: Files) -> list[str]:
    return sorted(name for name in files if name.startswith("store/index/"))


def agree(files: Files, *predicates: Predicate, why: str | None = None) -> list[AccessRead]:
    """All access paths that promise the same rows give them. `why`: the reason why an index file is rejected."""
    found = []
    for predicate in predicates or (And((T1, KEY)), KEY, And((T1, UNIQUE)), UNIQUE):
        scanned, auto, trust = (AccessRead(files, predicate, access) for access in ("scan", "auto", "trust"))
        assert scanned.rows.total() == 1
        assert auto.rows == scanned.rows, str(predicate)
        assert trust.rows <= scanned.rows
        (lookup,) = (found for _, found in auto.plan.lookups)
        assert (why is None and not lookup.why) or (why is not None and any(why in each.text() for each in lookup.why)), lookup.why
        found.append(auto)
    return found


def changed(files: Files, name: str, place: int, fields: str, *values: int) -> Files:
    content = bytearray(files[name])
    struct.pack_into(fields, content, place, *values)
    return files | {name: bytes(content)}


def of_key(files: Files, text: str = "T1#k31") -> tuple[str, int]:
    """The file and the number of a key's entry."""
    hashed = key_hash(*text.split("#"))
    for name in indexes(files):
        for number in range(1, struct.unpack_from(">i", files[name], 36)[0]):
            if struct.unpack_from(">i", files[name], _ENTRIES + 20 * number)[0] == hashed:
                return name, number
    raise AssertionError(text)


def test_an_index_without_faults() -> None:
    _, files = store()
    with_topic, without, *_ = agree(files)
    assert with_topic.plan.lookups[0][1].is_sufficient
    assert sum(split.written for split in with_topic.plan.splits) < 250
    assert without.plan.lookups[0][1].unknown_topics
    # The record of the key is read first.
    assert len(without.plan.splits[0]) == 1


# 62


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ((">qqqqii", 0, (0, 0, 0, 0, 0, 0)), "it is empty"),
        ((">i", 36, (29,)), "its header is inconsistent"),
        ((">i", 36, (2**31 - 1,)), "its header is inconsistent"),
        ((">i", 36, (-5,)), "its header is inconsistent"),
        ((">q", 16, (-1,)), "its header is inconsistent"),
        ((">q", 24, (0,)), "its header is inconsistent"),
    ],
)
def test_an_invalid_head(head: tuple[str, int, tuple[int, ...]], why: str) -> None:
    _, files = store()
    fields, place, values = head
    agree(changed(files, of_key(files)[0], place, fields, *values), why=why)


def test_a_file_that_was_truncated_or_does_not_tell_its_slots() -> None:
    _, files = store()
    name = of_key(files)[0]
    for size in (0, 20, 40, 300, len(files[name]) - 20):
        agree(files | {name: files[name][:size]}, why="its number of slots is unknown. Set max_hash_slot_num")


def test_the_option_for_the_number_of_slots() -> None:
    _, files = store()
    longer = {each: files[each] + bytes(60) for each in indexes(files)}
    memory = in_memory(files | longer)
    options = {"topic": "T1", "keys": "k31"}
    scan = nr.open(memory.url).messages(**options, max_hash_slot_num=SLOTS)
    assert scan.plan().lookups[0][1].is_sufficient
    assert scan.count_rows() == 1
    wrong = nr.open(memory.url).messages(**options, max_hash_slot_num=SLOTS + 1)
    assert wrong.count_rows() == 1
    assert not wrong.plan().lookups[0][1].is_sufficient
    assert wrong.plan().lookups[0][1].why
    assert "max_hash_slot_num" in str(wrong.explain())
    with pytest.raises(nr.OptionError, match="max_hash_slot_num must be an integer from 1"):
        nr.open(memory.url).messages(max_hash_slot_num=0)


# 63, 64


@pytest.mark.parametrize("number", [-1, -(2**31), 28, 2**31 - 1])
def test_a_slot_out_of_range(number: int) -> None:
    _, files = store()
    name, _ = of_key(files)
    slot = key_hash("T1", "k31") % SLOTS
    agree(changed(files, name, 40 + 4 * slot, ">i", number), And((T1, KEY)), why="a slot points to an entry that does not exist")


def test_pointers_out_of_range_or_in_circles() -> None:
    _, files = store()
    name, number = of_key(files)
    slot = key_hash("T1", "k31") % SLOTS
    (newest,) = struct.unpack_from(">i", files[name], 40 + 4 * slot)
    for leads_to in (newest, newest + 1, 2**31 - 1, -1):  # to itself, to a newer one, out of range
        agree(
            changed(files, name, _ENTRIES + 20 * newest + 16, ">i", leads_to),
            And((T1, KEY)),
            why="a chain leads to a newer entry",
        )
    other = next(each for each in range(1, 27) if struct.unpack_from(">i", files[name], _ENTRIES + 20 * each)[0] % SLOTS != slot)
    agree(changed(files, name, 40 + 4 * slot, ">i", other), And((T1, KEY)), why="an entry is in the wrong chain")
    assert number <= newest


def test_an_entry_that_was_lost() -> None:
    _, files = store()
    name, number = of_key(files)
    agree(changed(files, name, _ENTRIES + 20 * number, ">iqii", 0, 0, 0, 0), And((T1, KEY)), why="an entry was lost or never written")


# 65


@pytest.mark.parametrize("seconds", [-1, 0, 2**31 - 1])
def test_times_are_ignored(seconds: int) -> None:
    _, files = store()
    name, number = of_key(files)
    agree(changed(changed(files, name, _ENTRIES + 20 * number + 12, ">i", seconds), name, 0, ">qq", 2**62, 0))


# 66


def test_keys_of_one_hash() -> None:
    assert key_hash("T1", "AaAa") == key_hash("T1", "BBBB") == key_hash("T1", "AaBB")
    keyed = [
        message(number, topic="T1", properties=pack_properties({"KEYS": key}))
        for number, key in enumerate(["AaAa", "BBBB", "AaBB", "BBBB"])
    ]
    log = log_of(numbered(keyed))
    files = files_of(log) | dispatched(log.placed) | indexed(log.placed)
    for key, count in (("AaAa", 1), ("BBBB", 2), ("BBAa", 0)):
        predicate = And((T1, ArrayContains(Column("keys"), key)))
        scanned, auto, trust = (AccessRead(files, predicate, access) for access in ("scan", "auto", "trust"))
        assert scanned.rows == auto.rows == trust.rows
        assert scanned.rows.total() == count


def test_a_key_whose_hash_is_the_smallest_integer() -> None:
    """Java has no positive number for it: a broker takes 0."""
    key = key_of_hash("T1", -(2**31))
    assert (hash_code(f"T1#{key}"), key_hash("T1", key)) == (-(2**31), 0)
    log = log_of(numbered(message(number, topic="T1", properties=pack_properties({"KEYS": each})) for number, each in ((0, "a"), (1, key))))
    files = files_of(log) | dispatched(log.placed) | indexed(log.placed)
    predicate = And((T1, ArrayContains(Column("keys"), key)))
    scanned, auto, trust = (AccessRead(files, predicate, access) for access in ("scan", "auto", "trust"))
    assert scanned.rows == auto.rows == trust.rows
    assert scanned.rows.total() == 1


def test_one_key_in_two_topics_and_one_text_of_two_parts() -> None:
    """`a#b` in topic T1 has the hash of `b` in topic `T1#a`, an ambiguity of RocketMQ."""
    assert key_hash("T1", "a#b") == key_hash("T1#a", "b")
    keyed = [
        message(0, topic="T1", properties=pack_properties({"KEYS": "a#b"})),
        message(1, topic="T1#a", properties=pack_properties({"KEYS": "b"})),
    ]
    log = log_of(numbered(keyed))
    files = files_of(log) | dispatched(log.placed) | indexed(log.placed)
    for topic, key in (("T1", "a#b"), ("T1#a", "b")):
        predicate = And((Compare(Column("topic"), "=", topic), ArrayContains(Column("keys"), key)))
        scanned, auto = (AccessRead(files, predicate, access) for access in ("scan", "auto"))
        assert scanned.rows == auto.rows
        assert scanned.rows.total() == 1


# 67


def test_without_an_index() -> None:
    _, files = store()
    agree({name: content for name, content in files.items() if name not in indexes(files)}, why="there are no index files")
    rocks = {name: content for name, content in files.items() if name not in indexes(files)}
    rocks |= {"store/rocksdbstore/CURRENT": b"x", "store/rocksdbstore/000004.log": b""}
    agree(rocks, why="there are no index files")
    agree(rocks | {"store/rocksdbstore/000004.log": b"x"}, why="the RocksDB database ")


def test_an_index_of_part_of_the_log() -> None:
    log, _ = store()
    places = [placed.offset for placed in log.placed]
    for begin, until in ((places[40], 2**63), (0, places[10]), (places[31], places[32]), (places[32], 2**63), (0, places[31])):
        _, files = store(begin=begin, until=until)
        for looked in agree(files):
            assert looked.plan.lookups[0][1].uncovered


def test_each_file_missing() -> None:
    _, files = store()
    for name in indexes(files):
        agree({each: content for each, content in files.items() if each != name})


def test_a_store_that_was_not_stopped_cleanly() -> None:
    """A broker that finds `abort` deletes the index files after its checkpoint, because some of their pages may be lost."""
    _, files = store()
    times = [struct.unpack_from(">q", files[name], 8)[0] for name in indexes(files)]
    said = {"store/abort": b"", "store/checkpoint": struct.pack(">qqq", 0, 0, times[1])}
    (looked,) = agree(files | said, And((T1, KEY)), why="newer than the checkpoint, and the broker crashed")
    assert len(looked.plan.lookups[0][1].why) == len(times) - 2
    assert looked.plan.lookups[0][1].hits  # which are read first nevertheless


# 68


def test_an_entry_of_another_record() -> None:
    log, files = store()
    name, number = of_key(files)
    for offset in (log.placed[30].offset, log.placed[31].offset + 1, 2**40, 0):
        moved = changed(files, name, _ENTRIES + 20 * number + 4, ">q", offset)
        agree(
            moved,
            And((T1, KEY)),
            why="no record with the indexed key" if 0 < offset < 2**40 else "an entry has an offset outside the range of its file",
        )


def test_an_entry_that_was_moved_to_another_record_with_the_key() -> None:
    """The index names both, one of them twice, but not the record that the entry belonged to."""
    messages = [message(number, topic="T1", properties=pack_properties({"KEYS": "often"})) for number in range(20)]
    log = log_of(numbered(messages))
    files = files_of(log) | dispatched(log.placed) | indexed(log.placed)
    predicate = And((T1, ArrayContains(Column("keys"), "often")))
    moved = changed(files, indexes(files)[0], _ENTRIES + 20 * 6 + 4, ">q", log.placed[9].offset)
    scanned, auto = (AccessRead(moved, predicate, access) for access in ("scan", "auto"))
    assert scanned.rows == auto.rows
    assert any("too many entries for the record" in why.text() for why in auto.plan.lookups[0][1].why)


def test_the_index_of_another_store() -> None:
    _, files = store()
    other = log_of(numbered(message(number, body=b"longer than those") for number in range(60)))
    foreign = indexed(other.placed)
    agree({name: content for name, content in files.items() if name not in indexes(files)} | foreign, why="no record with the indexed key")


def test_expired_records_are_skipped() -> None:
    _, files = store()
    first = min(name for name in files if "/commitlog/" in name)
    for looked in agree({name: content for name, content in files.items() if name != first}, And((T1, KEY))):
        assert looked.plan.lookups[0][1].is_sufficient


# 69


def test_several_keys_and_the_same_key_again() -> None:
    twice = [message(number, topic="T1", properties=pack_properties({"KEYS": "a b a  c", "UNIQ_KEY": "a"})) for number in range(30)]
    log = log_of(numbered(twice))
    files = files_of(log) | dispatched(log.placed) | indexed(log.placed)
    for key in ("a", "b", "c"):
        predicate = And((T1, ArrayContains(Column("keys"), key)))
        scanned, auto, trust = (AccessRead(files, predicate, access) for access in ("scan", "auto", "trust"))
        assert scanned.rows == auto.rows == trust.rows
        assert scanned.rows.total() == 30  # no limit, and no duplicates


def test_a_key_that_all_messages_have(tune: Tune) -> None:
    _, files = store()
    everywhere = And((T1, ArrayContains(Column("keys"), "all")))
    tune(most_hits=2)
    scanned, auto = (AccessRead(files, everywhere, access) for access in ("scan", "auto"))
    assert scanned.rows == auto.rows
    assert scanned.rows.total() == 20
    assert any("3 entries match, too many" in why.text() for why in auto.plan.lookups[0][1].why)


def test_chains_that_are_too_long_to_follow(tune: Tune) -> None:
    _, files = store()
    tune(least_index_steps=1)
    memory = in_memory(files)
    hashes = np.array([key_hash("T1", "k31")], np.int64)
    looked = [
        search(file, hashes, (0, 2**40), entry_costs)
        for file in index.index_files(f"{memory.url}/store/index")
        for entry_costs in (1, 2**40, 0)
    ]
    assert {each.why.text() for each in looked if each.why} == {"its chains are too long: more than 1 entries"}


def test_explain_shows_no_other_keys() -> None:
    _, files = store()
    memory = in_memory(files)
    text = str(nr.open(memory.url).messages(keys="k31").explain())
    assert "k31" in text
    assert "U0031" not in text


@pytest.mark.parametrize(
    "configuration",
    [b"", b"{", b"[]", b'{"topicConfigTable": [1, null]}', b'{"topicConfigTable": {"a\\ud800b": {}, "T1": {}}}', b"[" * 100_000],
)
def test_an_invalid_configuration_names_no_topics(configuration: bytes) -> None:
    _, files = store()
    agree(files | {"store/config/topics.json": configuration}, KEY)
