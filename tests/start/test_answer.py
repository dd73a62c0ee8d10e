"""May a broker be started? The answer for stores that are whole or damaged. What brokers really do: tests/brokers/test_start.py."""

from __future__ import annotations

import shutil
import struct
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from support import unstarted as damages
from support.command_line import run
from support.golden import Golden
from support.own_stores import NAMES

import native_reader as nr
from native_reader.records.damages import Damages
from native_reader.scan.read import Reading
from native_reader.start import BETTER_NOT, BUT, NO, SO_FAR, UNKNOWN, YES, Start, lines_of, may_start, recovered
from native_reader.start.lines import LINES, Line, lines_since, span_of
from native_reader.start.reasons import Harm
from native_reader.storage.store import Segment
from native_reader.witness import logged
from native_reader.writing.records import checkpoint

KEPT = 9_000_000
NOT_WHOLE = "5.5.0-slave", "5.5.0-dledger", "5.5.0-multipath", "5.5.0-rocksdb-moved", "5.5.0-failover"


def answer_of(store: Path, version: str | None = None) -> Start:
    (files,) = nr.open(store).stores
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    return may_start(files, lines_since(version or "0"), end, now=0, reserved_hours=72)


def spans(lines: Iterable[Line]) -> list[str]:
    return [line.span for line in lines]


def kinds(start: Start) -> list[str]:
    return [reason.cause.kind for reason in start.reasons]


@pytest.fixture
def killed(own_store: Callable[[str], Golden], tmp_path: Path) -> Path:
    """A copy of the store of a killed broker, with seven segments."""
    return Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_WHOLE])
def test_a_store_that_its_broker_left_may_be_started(own_store: Callable[[str], Golden], name: str) -> None:
    start = answer_of(own_store(name).root)
    assert (start.outcome, start.reasons) == (YES, ())


def test_a_slave_with_ordinary_queues_of_batches_is_refused(own_store: Callable[[str], Golden]) -> None:
    start = answer_of(own_store("5.5.0-slave").root, "5.0.0")
    assert (start.outcome, kinds(start)) == (NO, ["queue type"])
    assert list(lines_of(start)) == [
        "no: Inner has ordinary queues, which its settings contradict, as on some slaves: a broker refuses to load them"
    ]


def test_dledger_keeps_a_whole_log(own_store: Callable[[str], Golden]) -> None:
    """tests/log/test_dledger.py has damaged ones."""
    start = answer_of(own_store("5.5.0-dledger").root)
    assert (start.outcome, kinds(start)) == (YES, [])


WHAT = {
    damages.whole: (YES, []),
    damages.a_page_of_zeros_in_the_second_newest: (BETTER_NOT, ["cut"]),
    damages.a_flipped_bit_in_a_body: (BETTER_NOT, ["cut"]),
    damages.an_overwritten_start: (BETTER_NOT, ["cut"]),
    damages.a_cut_segment: (BETTER_NOT, ["segment size", "left out segment size", "hole"]),
    damages.a_cut_last_segment: (BETTER_NOT, ["segment size", "left out segment size"]),
    damages.an_empty_last_segment: (BETTER_NOT, ["segment size"]),
    damages.a_missing_segment: (BETTER_NOT, ["hole"]),
    damages.a_packed_segment: (NO, ["renamed file"]),
    damages.a_folder_beside_the_segments: (BETTER_NOT, ["foreign file"]),
    damages.a_cut_queue_file: (BETTER_NOT, ["queue size", "left out queue size"]),
    damages.a_note_beside_a_queue: (NO, ["foreign queue file"]),
    damages.no_queues: (BUT, ["queued again"]),
    damages.no_log: (BETTER_NOT, ["no log"]),
}


def test_which_brokers_refuse_an_empty_last_segment(killed: Path) -> None:
    damages.an_empty_last_segment(killed)
    assert [span_of(each.lines) for each in answer_of(killed).reasons] == ["4.5.0–4.9.1, 4.9.3–5.1.2"]


LOG_DAMAGES = [*(each for each, (_, found) in WHAT.items() if found in ([], ["cut"])), damages.a_page_of_zeros_in_the_first_segment]


@pytest.mark.parametrize("damage", LOG_DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("stopped", [False, True])
def test_damage_that_is_known_with_its_checksums_is_not_read_again(
    killed: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None], stopped: bool
) -> None:
    damage(killed)
    if stopped:
        (killed / "abort").unlink()
    (files,) = nr.open(killed).stores
    run = nr.open(killed).messages(mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, columns="topic").run()
    deque(run, maxlen=0)
    known, end = Damages.of(run.report.damage), nr.open(killed).diagnose().facts["commitlog"]["end_offset"]
    expected = may_start(files, LINES, end, known, now=0, reserved_hours=72)
    checked: list[bool] = []

    def reading(log: recovered.RecoveredLog, segment: Segment, *, verify_crc: bool) -> Reading:
        checked.append(verify_crc)
        return read(log, segment, verify_crc=verify_crc)

    read = recovered.RecoveredLog._reading
    monkeypatch.setattr(recovered.RecoveredLog, "_reading", reading)
    assert may_start(files, LINES, end, known, checksums=True, now=0, reserved_hours=72) == expected
    assert not any(checked)
    if "cut" not in kinds(expected):
        assert not checked, "a message is counted, though none is cut"


@pytest.mark.parametrize("damage", WHAT, ids=lambda damage: damage.__name__)
def test_the_answer_for_a_damaged_store(killed: Path, damage: Callable[[Path], None]) -> None:
    damage(killed)
    start = answer_of(killed)
    assert (start.outcome, kinds(start)) == WHAT[damage]


def test_it_says_which_messages_a_start_deletes(killed: Path) -> None:
    damages.a_page_of_zeros_in_the_second_newest(killed)
    start = answer_of(killed)
    (values,) = (dict(reason.cause.values) for reason in start.reasons)
    offsets = nr.open(killed).messages(mode="DROPMALFORMED", columns="physical_offset").to_table()["physical_offset"].to_pylist()
    assert values["messages"] == sum(offset >= values["offset"] for offset in offsets) > 0


def test_a_killed_broker_begins_with_the_newest_segment_that_it_dispatched_from(killed: Path) -> None:
    """5.5.0 after a kill: also with the segment whose first record is the next one to dispatch."""
    bases = sorted(int(path.name) for path in (killed / "commitlog").iterdir())
    for dispatched, begins in ((bases[2] - 1, bases[1]), (bases[2], bases[2]), (bases[2] + 1, bases[2])):
        (killed / "checkpoint").write_bytes(checkpoint(0, 0, 0, dispatched=dispatched))
        (files,) = nr.open(killed).stores
        assert LINES[-1].begins(files) == begins


def test_damage_before_the_part_that_a_broker_checks_stays(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovered, "READ_WHOLE", 0)
    (killed / "abort").unlink()
    damages.a_page_of_zeros_in_the_first_segment(killed)
    (files,) = nr.open(killed).stores
    scan = nr.open(killed).messages(mode="DROPMALFORMED").run()
    for _ in scan:
        pass
    unread, known = (
        may_start(files, LINES, files.segments[-1].end, damage, now=0, reserved_hours=72) for damage in (None, scan.report.damage)
    )
    assert (unread.outcome, unread.unread_before > 0, 0 < unread.share < 100) == (SO_FAR, True, True)
    assert (known.outcome, kinds(known), known.unread_before) == (BETTER_NOT, ["kept damage"], 0)


def test_a_check_of_the_whole_store_adds_its_damage_to_the_answer(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor --full` said beside the damage that nothing speaks against a start."""
    monkeypatch.setattr(recovered, "READ_WHOLE", 0)
    monkeypatch.setattr(logged, "READ_WHOLE", 0)
    (killed / "abort").unlink()
    damages.a_page_of_zeros_in_the_first_segment(killed)
    damages.a_flipped_bit_in_a_body(killed)
    store = nr.open(killed)
    found, check = store.diagnose(file_reserved_time=KEPT), store.verify(file_reserved_time=KEPT)
    assert found.start is not None
    assert found.start.is_partial
    check.to_table()
    found.add_check(check)
    scan = store.messages(mode="DROPMALFORMED", verify_crc=True, columns="topic").run()
    deque(scan, maxlen=0)
    assert list(check.damage) == list(scan.report.damage)
    assert not found.start.is_partial
    assert found.start.after
    assert {"kept damage", "wrong bodies"} <= set(kinds(found.start))
    (doctor,) = run("doctor", killed, "--full", "--json", "--file-reserved-time", str(KEPT)).rows
    assert doctor["start"] == found.start.to_dict()


SETTINGS = [
    ("", 0, True),
    ("checkCRCOnRecover = false", 0, False),
    ("commitLogRecoverMaxNum=2", -2, False),
    ("commitLogRecoverMaxNum=0", 0, True),
]


@pytest.mark.parametrize(("setting", "begins", "cut"), SETTINGS)
def test_it_checks_what_the_configuration_says(killed: Path, setting: str, begins: int, cut: bool) -> None:
    damages.no_queues(killed)
    (killed / "abort").unlink()
    damages.a_flipped_bit_in_a_body(killed)
    conf = killed.parent / "broker.conf"
    conf.write_text(f"storePathRootDir={killed}\n{setting}\n")
    (files,) = nr.open(killed, broker_conf=str(conf)).stores
    assert LINES[-1].begins(files) == files.segments[begins].base
    start = may_start(files, LINES[-1:], files.segments[-1].end, now=0, reserved_hours=72)
    assert ("cut" in kinds(start)) is cut


@pytest.mark.parametrize(
    ("name", "content", "backup", "kind"),
    [
        ("topics.json", b"{", None, "lost topics"),
        ("topics.json", b"{", b"{", "settings"),
        ("consumerOffset.json", b"", b"{", "settings"),
        ("consumerOffset.json", None, b'{"offsetTable":{}}', "old settings"),
        ("consumerOffset.json", b"", b"", "lost settings"),
    ],
)
def test_settings_that_cannot_be_used(killed: Path, name: str, content: bytes | None, backup: bytes | None, kind: str) -> None:
    for path, value in ((killed / "config" / name, content), (killed / "config" / f"{name}.bak", backup)):
        path.unlink(missing_ok=True)
        if value is not None:
            path.write_bytes(value)
    start = answer_of(killed)
    assert kind in kinds(start)
    assert (start.outcome == NO) is (kind == "settings")


def test_without_topic_settings_it_knows_no_topic(killed: Path) -> None:
    shutil.rmtree(killed / "config")
    assert "no topics" in kinds(answer_of(killed))


def test_old_segments_are_deleted_at_the_next_cleaning(killed: Path) -> None:
    (files,) = nr.open(killed).stores
    (_, second, *_) = nr.open(killed).table("segments").to_table()["first_store_timestamp"].to_pylist()
    now = round(second.timestamp() * 1000) + 3_600_000 * 5
    assert kinds(may_start(files, LINES, files.segments[-1].end, now=now, reserved_hours=5)) == []
    start = may_start(files, LINES, files.segments[-1].end, now=now + 1, reserved_hours=5)
    assert [dict(each.cause.values) for each in start.reasons] == [{"segments": 1, "bytes": 65536, "size": "64.0 KiB", "hours": 5}]
    assert not start.loses


def test_a_later_store_is_not_for_earlier_brokers(killed: Path) -> None:
    assert spans(answer_of(killed, "5.3.1").lines) == ["5.1.3–5.3.1", "5.3.2–5.3.x", "5.4.x", "5.5.0+"]
    assert spans(answer_of(killed, "5.3.2").lines) == ["5.3.2–5.3.x", "5.4.x", "5.5.0+"]
    assert spans(answer_of(killed, "5.6.0").lines) == ["5.5.0+"]


def test_too_much_to_read_is_unknown_and_says_so_first(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damages.a_missing_segment(killed)
    monkeypatch.setattr(recovered, "_MOST_READ", 1)
    start = answer_of(killed)
    assert (start.outcome, kinds(start)) == (UNKNOWN, ["not read", "hole"])


def test_the_worst_reason_comes_first(killed: Path) -> None:
    damages.a_missing_segment(killed)
    damages.a_page_of_zeros_in_the_second_newest(killed)
    shutil.rmtree(killed / "config")
    start = answer_of(killed)
    assert kinds(start) == ["cut", "hole", "no topics"]
    assert [reason.harm for reason in start.reasons] == [Harm.LOSES, Harm.LOSES, Harm.CHANGES]


def begins_of(store: Path, number: int) -> int:
    (files,) = nr.open(store).stores
    return LINES[number].begins(files)


def test_a_killed_broker_begins_before_both_times_of_its_checkpoint(killed: Path) -> None:
    """4.0 to 5.4: with the newest segment whose first record is three seconds older than the earlier of the two."""
    rows = nr.open(killed).table("segments").to_table().sort_by("first_offset").to_pylist()
    begins, stored = rows[2]["first_offset"], round(rows[2]["first_store_timestamp"].timestamp() * 1000)
    for number in range(len(LINES) - 1):
        for times in ((stored + 2999, stored + 60_000), (stored + 60_000, stored + 2999)):
            (killed / "checkpoint").write_bytes(checkpoint(*times, 0))
            assert begins_of(killed, number) < begins
        (killed / "checkpoint").write_bytes(checkpoint(stored + 3000, stored + 3000, 0))
        assert begins_of(killed, number) >= begins


def test_without_queues_a_killed_broker_does_not_queue_what_is_before_its_recovery(killed: Path) -> None:
    """What it does not check is in no queue afterwards; 4.5 to 4.9, 5.3.2 and 5.3.3 queue the whole log again if they stopped cleanly."""
    last = max(int(path.name) for path in (killed / "commitlog").iterdir() if any(path.read_bytes()[:8]))
    (killed / "checkpoint").write_bytes(checkpoint(2**50, 2**50, 0, dispatched=last))
    damages.no_queues(killed)
    (files,) = nr.open(killed).stores
    end = nr.open(killed).diagnose().facts["commitlog"]["end_offset"]
    found = list[list[str]]()
    for stopped in (False, True):
        if stopped:
            (killed / "abort").unlink()
        found.append([each.cause.kind for each in may_start(files, LINES, end, now=0, reserved_hours=72).reasons])
    assert found == [["not queued"], ["never queued", "queued again"]]


def test_an_empty_segment_before_others_is_refused_by_each_broker(killed: Path) -> None:
    """Only an empty last one is deleted since 5.1.3. Some take it and those after it for not there."""
    segments = sorted((killed / "commitlog").iterdir())
    segments[1].write_bytes(b"")
    (files,) = nr.open(killed).stores
    start = may_start(files, LINES, files.segments[-1].end, now=0, reserved_hours=72)
    assert [(each.cause.kind, span_of(each.lines)) for each in start.reasons][:2] == [
        ("segment size", "4.5.0–4.9.1, 4.9.3+"),
        ("left out segment size", "4.0.0–4.4.x, 4.9.2"),
    ]
    assert start.outcome == BETTER_NOT


def test_a_broker_with_a_controller_can_become_a_slave(own_store: Callable[[str], Golden]) -> None:
    start = answer_of(own_store("5.5.0-failover").root)
    assert (start.outcome, kinds(start)) == (BUT, ["controller"])


def test_queues_that_a_broker_moved_to_rocksdb_lack_messages(own_store: Callable[[str], Golden]) -> None:
    """It left out the record at offset 0, and replaced entries of an earlier topic of the same name by number."""
    start = answer_of(own_store("5.5.0-rocksdb-moved").root, "5.5.0")
    assert (start.outcome, kinds(start)) == (UNKNOWN, ["database queues"])


def test_a_queue_in_rocksdb_without_an_entry(own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    """All messages after it are in the queue, so the answer does not say how many are missing."""
    rocksdict = pytest.importorskip("rocksdict")
    store = Path(shutil.copytree(own_store("5.5.0-rocksdb-queues").root, tmp_path / "store"))
    whole = answer_of(store)
    assert whole.outcome == YES
    counts = {tuple(after.total(count) for count in ("whole", "served", "moved")) for _, after in whole.after}
    assert {(each[0], 0) for each in counts} == {(served, moved) for _, served, moved in counts} != {(0, 0)}
    raw = rocksdict.Options(raw_mode=True)
    folder = str(store / "consumequeue")
    families = {name: rocksdict.Options(raw_mode=True) for name in rocksdict.Rdict.list_cf(folder, raw)}
    database = rocksdict.Rdict(folder, raw, column_families=families)
    key = next(key for key, _ in database.items() if key.endswith(struct.pack(">q", 1)))
    del database[key]
    database.close()
    start = answer_of(store)
    assert (start.outcome, kinds(start)[:1]) == (UNKNOWN, ["database queues"])
    assert "lack entries" in (line := next(iter(lines_of(start))))
    assert "rmqstore verify" in line
