"""A summary changes what is read, never the rows: whatever is wrong with it, missing in it, or changed in the store since."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run
from support.effort import WHOLE, at_effort, sampled
from support.pruning import AccessRead, selective
from support.queued_stores import queued_stores
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr
from native_reader.export.target import Target
from native_reader.plan.summarized import OF_GROUPS, OF_RECORDS
from native_reader.plan.ways import BySummary
from native_reader.predicate.tree import And
from native_reader.summary import pieces
from native_reader.summary.texts import TEXTS
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
KERNELS = "numpy", "compiled"


KNOWN = (*OF_GROUPS, *OF_RECORDS, *TEXTS)


def rows_of(store: Path, **options: Any) -> list[tuple[int, str]]:
    """Offset and topic of the rows, from a read of records; a read of columns that a summary has, and a count, must find the same."""
    rows = rows_of_records(store, **options)
    known = nr.open(store).messages(columns=KNOWN, **options).to_table()
    assert sorted(zip(*(known[name].to_pylist() for name in ("physical_offset", "topic")), strict=True)) == rows
    assert nr.open(store).messages(**options).count_rows() == len(rows)
    return rows


def rows_of_records(store: Path, **options: Any) -> list[tuple[int, str]]:
    table = nr.open(store).messages(columns="physical_offset,topic,body_size", **options).to_table()
    return sorted(zip(*(table[name].to_pylist() for name in ("physical_offset", "topic")), strict=True))


def known_of(store: Path, **options: Any) -> list[dict[str, Any]]:
    """All columns that a summary has."""
    rows = nr.open(store).messages(columns=KNOWN, **options).to_table().to_pylist()
    return sorted(rows, key=lambda row: (row["physical_offset"], row["inner_index"] or 0))


def ways_of(store: Path, **options: Any) -> list[str]:
    return [split.access for split in nr.open(store).messages(**options).plan().splits]


def why_not(store: Path, folder: Path) -> list[str]:
    (way,) = nr.open(store).messages(topic="T1", summary=folder).explain().to_dict()["ways"]
    return list(way["summary"]["not_used"])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store of four segments with a deleted topic, and its summary. Tests must not change them."""
    folder = tmp_path_factory.mktemp("summarized")
    write_store(folder / "store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=256 << 10, deleted="invoices", index=False))
    nr.open(folder / "store").summarize(folder / "summary")
    return folder / "store", folder / "summary"


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    """A store of three segments, and its summary."""
    store = on_disk(tmp_path, files_of(log_of(map(message, range(30))))) / "store"
    nr.open(store).summarize(tmp_path / "summary")
    return store, tmp_path / "summary"


def questions(store: Path) -> Iterator[dict[str, Any]]:
    """One of each kind."""
    row, *_ = (
        nr.open(store).messages(topic="orders", where="keys IS NOT NULL AND uniq_key IS NOT NULL", columns="*").head(9).to_pylist()[-1:]
    )
    yield from (
        {"topic": "orders"},
        {"topic": "invoices"},
        {"topic": "orders", "queue_id": 1},
        {"where": "kind = 'retry' OR kind = 'delay'"},
    )
    yield from (
        {"keys": row["keys"][0]},
        {"msg_id": row["uniq_key"]},
        {"msg_id": row["offset_msg_id"]},
        {"topic": "orders", "keys": row["keys"]},
    )
    yield {"starting_timestamp": row["store_timestamp"], "ending_timestamp": row["store_timestamp"].replace(microsecond=999_999)}
    yield {"topic": "orders", "where": f"keys IS NULL OR NOT array_contains(keys, '{row['keys'][0]}')"}
    yield {"where": f"array_contains(keys, '{row['keys'][0]}') OR topic = 'invoices' OR queue_offset = 3"}
    yield {"topic": "orders", "tags": str(row["tags"])}


@pytest.mark.parametrize("which", KERNELS)
def test_the_rows_are_those_of_a_scan(written: tuple[Path, Path], which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = written
    monkeypatch.setenv("RMQSTORE_KERNEL", which)
    for question in questions(store):
        assert rows_of(store, summary=folder, **question) == rows_of(store, access="scan", **question) != [], question
        assert "summary" in ways_of(store, summary=folder, **question), question
        assert known_of(store, summary=folder, **question) == known_of(store, access="scan", **question), question


@pytest.mark.kernel
def test_both_kernels_write_the_same_bytes(written: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for which in KERNELS:
        monkeypatch.setenv("RMQSTORE_KERNEL", which)
        nr.open(written[0]).summarize(tmp_path / which)
    numpy, compiled = ({path.name: path.read_bytes() for path in (tmp_path / which).iterdir()} for which in KERNELS)
    assert numpy == compiled
    assert len(numpy) == 12


@pytest.mark.parametrize("which", KERNELS)
def test_columns_that_the_summary_has_are_read_without_the_log(
    written: tuple[Path, Path], which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only records whose numbers a part does not have are read, such as those of batches. Other rows come in log order."""
    store, folder = written
    monkeypatch.setenv("RMQSTORE_KERNEL", which)
    end = 3 * (256 << 10)
    conditions: tuple[dict[str, Any], ...] = (
        {},
        {"topic": "orders"},
        {"where": "queue_id = 1 AND store_timestamp > TIMESTAMP '2026-01-05 08:00:01Z'"},
        {"where": "NOT (topic = 'orders' OR record_size < 500) AND queue_offset > 3"},
        {"where": "inner_index IS NULL AND physical_offset > 300000"},
        {"topic": "orders", "tags": "shipped"},
        {"where": "tags IS NULL OR born_host LIKE '%1'"},
    )
    for question in conditions:
        ours, scanned = {"summary": folder, **question}, {"access": "scan", **question}
        assert known_of(store, **ours) == known_of(store, **scanned) != [], question
        assert "summary alone" in ways_of(store, columns=KNOWN, **ours), question
        assert nr.open(store).messages(**ours).count_rows() == nr.open(store).messages(**scanned).count_rows(), question
    run = nr.open(store).messages(topic="orders", columns=KNOWN, summary=folder, ending_physical_offset=end).run()
    offsets = [row["physical_offset"] for batch in run for row in batch.to_pylist()]
    assert offsets == sorted(offsets) != []
    assert run.report.bytes_read == 0
    assert "without reading the log" in str(nr.open(store).messages(columns=KNOWN, summary=folder).explain())


@pytest.mark.parametrize(
    "needs_records", [{"columns": "topic,keys"}, {"columns": "topic", "where": "body_size > 0"}, {"columns": "topic", "verify_crc": True}]
)
def test_anything_else_of_a_message_is_read_from_the_log(small: tuple[Path, Path], needs_records: dict[str, Any]) -> None:
    store, folder = small
    assert set(ways_of(store, topic="T1", summary=folder, columns="topic")) == {"scan", "summary alone"}
    assert "summary alone" not in ways_of(store, topic="T1", summary=folder, **needs_records)


def test_a_key_reads_no_more_than_its_records(written: tuple[Path, Path]) -> None:
    store, folder = written
    end = 3 * (256 << 10)
    row = nr.open(store).messages(topic="orders", where="uniq_key IS NOT NULL", columns="uniq_key,record_size").head(1).to_pylist()[0]
    scan = nr.open(store).messages(topic="orders", msg_id=row["uniq_key"], summary=folder, ending_physical_offset=end)
    assert re.search(r"by summary .*; about 1 record \(\S+ \w+\) matches\n", str(scan.explain()))
    run = scan.run()
    assert sum(map(len, run)) == 1
    assert run.report.bytes_read <= row["record_size"] + (1 << 10)


@pytest.mark.sweep
def test_a_summary_changes_no_rows(tmp_path_factory: pytest.TempPathFactory) -> None:
    ways = dict.fromkeys(("cases", "summary", "not by summary", "summary alone"), 0)

    @sampled(200)
    @given(st.data())
    def changes_nothing(data: st.DataObject) -> None:
        files, summary = data.draw(queued_stores()), tmp_path_factory.mktemp("summary")
        for _ in range(3):
            predicate = data.draw(selective())
            scanned = AccessRead(files, predicate, "scan")
            covered = AccessRead(files, predicate, "auto", summary=summary)
            assert covered.rows == scanned.rows, str(predicate)
            assert not any("summary" in line for line in covered.run.report.scanned)
            known = AccessRead(files, predicate, "auto", summary=summary, columns=KNOWN)
            assert known.rows == scanned.rows, str(predicate)
            ways["summary alone"] += "summary alone" in known.ways
            for way in ("cases", "summary", "not by summary"):
                ways[way] += way == "cases" or way in covered.ways

    changes_nothing()
    assert min(ways["summary"], ways["not by summary"], ways["summary alone"]) >= at_effort(0.05, 0.1) * ways["cases"], ways


def test_a_second_run_reads_only_new_segments(tmp_path: Path) -> None:
    log = log_of(map(message, range(60)))
    files = files_of(log)
    names = sorted(files)
    store = on_disk(tmp_path, dict(list(files.items())[:4])) / "store"
    assert len(nr.open(store).summarize(tmp_path / "summary").written) == 3
    on_disk(tmp_path, {name: files[name] for name in names[4:]})
    done = nr.open(store).summarize(tmp_path / "summary")
    assert (len(done.kept), done.bytes_read) == (3, sum(len(files[name]) for name in names[3:-1]))
    assert rows_of(store, topic="T1", summary=tmp_path / "summary") == rows_of(store, topic="T1", access="scan")


def test_the_newest_segment_and_damaged_ones_have_no_rows_in_a_summary(tmp_path: Path) -> None:
    files = files_of(log_of(map(message, range(30))))
    first, *_ = sorted(files)
    files[first] = files[first][:300] + b"\xff" * 8 + files[first][308:]
    store = on_disk(tmp_path, files) / "store"
    done = nr.open(store).summarize(tmp_path / "summary")
    assert (len(done.damaged), len(done.left_out)) == (1, 1)
    assert nr.open(store).summarize(tmp_path / "summary").written == []
    assert why_not(store, tmp_path / "summary") == ["1 segment: it has damaged bytes"]
    for mode in ("DROPMALFORMED", "PERMISSIVE"):
        options: dict[str, Any] = {"topic": "T1", "mode": mode}
        assert rows_of(store, summary=tmp_path / "summary", **options) == rows_of(store, access="scan", **options)


# What is wrong with a part


def renamed(store: Path, folder: Path) -> None:
    one, other, *_ = sorted(folder.glob("*.groups.parquet"))
    other.unlink()
    one.rename(other)


def without(ending: str) -> Callable[[Path, Path], None]:
    return lambda store, folder: sorted(folder.glob(f"*.{ending}.parquet"))[0].unlink()


def changed_at_an_end(store: Path, folder: Path) -> None:
    path = min((store / "commitlog").iterdir())
    times = path.stat()
    content = bytearray(path.read_bytes())
    content[60] ^= 1  # the store time of the first record
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def touched(store: Path, folder: Path) -> None:
    os.utime(min((store / "commitlog").iterdir()), ns=(1, 1))


def copied(store: Path, folder: Path) -> None:
    path = min((store / "commitlog").iterdir())
    content, times = path.read_bytes(), path.stat()
    path.rename(folder.parent / "before")
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def cut(store: Path, folder: Path) -> None:
    path = min(folder.glob("*.groups.parquet"))
    path.write_bytes(path.read_bytes()[:-9])


NO_PART = "1 segment: the summary has no part for it"
WRONG: dict[str, tuple[Callable[[Path, Path], None], list[str]]] = {
    "renamed": (renamed, [NO_PART, "1 segment: a checksum of its part is wrong: the part was changed or not written to the end"]),
    "no groups": (without("groups"), [NO_PART]),
    "no records": (without("records"), []),
    "changed at an end": (changed_at_an_end, ["1 segment: it was changed after its part was written"]),
    "touched": (touched, ["1 segment: it was changed after its part was written"]),
    "copied": (copied, ["1 segment: its part is of another file"]),
    "cut": (cut, ["1 segment: a checksum of its part is wrong: the part was changed or not written to the end"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_part_that_does_not_fit_is_not_used(small: tuple[Path, Path], wrong: str) -> None:
    store, folder = small
    change, why = WRONG[wrong]
    change(store, folder)
    for question in ({"topic": "T1"}, {"keys": "k3"}, {"where": "store_timestamp > TIMESTAMP '2000-01-01 00:00:00Z' AND topic = 'T0'"}):
        assert rows_of(store, summary=folder, **question) == rows_of(store, access="scan", **question) != []
    assert why_not(store, folder) == why


def test_the_summary_of_another_store_is_not_used(small: tuple[Path, Path], tmp_path: Path) -> None:
    store, folder = small
    other = (
        on_disk(tmp_path / "other", files_of(log_of(message(number, topic="T1", queue_id=number % 3) for number in range(30)))) / "store"
    )
    assert rows_of(other, topic="T1", summary=folder) == rows_of(other, topic="T1", access="scan") != rows_of(store, topic="T1")
    assert why_not(other, folder)[0].endswith("its part is of another file")


def test_one_folder_serves_several_stores(small: tuple[Path, Path], tmp_path: Path) -> None:
    store, folder = small
    other = shutil.copytree(store, tmp_path / "copy")
    nr.open(other).summarize(folder)
    for each in (store, other):
        assert rows_of(each, topic="T1", summary=folder) == rows_of(each, topic="T1", access="scan")
        assert "summary" in ways_of(each, topic="T1", summary=folder)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(4))
def test_a_flipped_bit_anywhere_in_a_part_changes_no_rows(small: tuple[Path, Path], part: int) -> None:
    store, folder = small
    questions: list[dict[str, Any]] = [{"topic": "T1"}, {"keys": "k3"}]
    whole = [rows_of(store, access="scan", **question) for question in questions]
    path = sorted(folder.iterdir())[part]
    content = path.read_bytes()
    places = range(len(content)) if WHOLE else sorted(Random(1).sample(range(len(content)), 10))
    for place in places:
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        pieces._metadata.cache_clear()
        which = place // 8 % 2
        assert rows_of(store, summary=folder, **questions[which]) == whole[which], (path.name, place)


def test_a_part_that_is_deleted_after_planning_is_replaced_by_a_scan(small: tuple[Path, Path]) -> None:
    store, folder = small
    scan = nr.open(store).messages(topic="T1", columns="physical_offset", summary=folder)
    scan.plan()
    shutil.rmtree(folder)
    read = scan.run()
    assert sum(map(len, read)) == len(rows_of(store, topic="T1", access="scan"))
    assert read.report.scanned[0].endswith("the summary is not used: its part cannot be read")


def test_a_part_that_goes_when_a_row_is_wanted_of_it_alone_is_replaced_by_a_scan(small: tuple[Path, Path]) -> None:
    store, folder = small
    expected = known_of(store, topic="T1", access="scan")
    scans = [nr.open(store).messages(topic="T1", columns=KNOWN, summary=folder) for _ in range(2)]
    assert all("summary alone" in [split.access for split in scan.plan().splits] for scan in scans)
    changes: list[Callable[[], object]] = [lambda: without("records")(store, folder), lambda: shutil.rmtree(folder)]
    for scan, change in zip(scans, changes, strict=True):
        change()
        assert sorted(scan.to_table().to_pylist(), key=lambda row: row["physical_offset"]) == expected


def test_a_record_that_is_not_where_the_summary_has_it_leads_to_a_scan(small: tuple[Path, Path]) -> None:
    """The bytes in the middle were changed, and the time of the file is as before: only the records show it."""
    store, folder = small
    path = min((store / "commitlog").iterdir())
    times, content = path.stat(), path.read_bytes()
    row = nr.open(store).messages(columns="physical_offset,topic").head(3).to_pylist()[2]
    path.write_bytes(content[: row["physical_offset"]] + bytes(30) + content[row["physical_offset"] + 30 :])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    options: dict[str, Any] = {"topic": row["topic"], "mode": "DROPMALFORMED"}
    assert rows_of_records(store, summary=folder, **options) == rows_of(store, access="scan", **options)
    read = nr.open(store).messages(summary=folder, **options).run()
    assert sum(map(len, read)) == len(rows_of(store, access="scan", **options))
    assert read.report.scanned == (f"{path.as_uri()}: a record is not where the summary has it",)


def test_a_permissive_read_does_not_use_a_summary(small: tuple[Path, Path]) -> None:
    store, folder = small
    assert "summary" not in ways_of(store, topic="T1", summary=folder, mode="PERMISSIVE")
    (way,) = nr.open(store).messages(topic="T1", summary=folder, mode="PERMISSIVE").explain().to_dict()["ways"]
    assert way["summary"]["not_used"] == ["mode=PERMISSIVE compares each record with the entries that name it"]


def test_a_record_over_the_limit_is_the_same_error_with_a_summary(small: tuple[Path, Path]) -> None:
    store, folder = small
    for options in ({"access": "scan"}, {"summary": folder}):
        with pytest.raises(nr.StoreDamaged, match="max_record_bytes"):
            rows_of(store, topic="T1", max_record_bytes=100, **options)


# Writing, and what people see


def test_a_summary_is_not_written_into_the_store(small: tuple[Path, Path]) -> None:
    store, _ = small
    with pytest.raises(nr.OptionError, match=r"is inside the store .* Choose a folder outside it: a store is never changed"):
        nr.open(store).summarize(store / "summary")


def test_a_second_run_at_once_is_an_error_that_changes_nothing(small: tuple[Path, Path]) -> None:
    store, folder = small
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with Target(folder, ()), pytest.raises(nr.ExportError, match="another program is writing to this folder"):
        nr.open(store).summarize(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_run_that_was_stopped_is_continued(small: tuple[Path, Path]) -> None:
    store, folder = small
    with Target(folder, ()) as target, target.create("records") as sink:
        sink.write(b"half")
    without("groups")(store, folder)
    assert len(nr.open(store).summarize(folder).written) == 1
    assert why_not(store, folder) == []
    assert {path.suffix for path in folder.iterdir()} == {".parquet"}


def test_a_split_of_a_summary_can_be_sent(small: tuple[Path, Path]) -> None:
    store, folder = small
    splits = nr.open(store).messages(topic="T1", summary=folder).plan().splits
    assert pickle.loads(pickle.dumps(splits)) == splits
    assert isinstance(splits[0].way, BySummary)
    assert splits[0].way.part.startswith(folder.as_uri())


def test_explain_says_what_the_summary_covers(small: tuple[Path, Path]) -> None:
    store, folder = small
    lines = str(nr.open(store).messages(topic="T1", summary=folder).explain()).splitlines()
    assert next(line for line in lines if "summary" in line).startswith("  by summary ")
    without("groups")(store, folder)
    assert f"  no summary {NO_PART}" in str(nr.open(store).messages(topic="T1", summary=folder).explain()).splitlines()


def test_the_command_writes_and_uses_a_summary(small: tuple[Path, Path], tmp_path: Path) -> None:
    store, _ = small
    folder = tmp_path / "by command"
    assert run("summarize", store, "--to", folder).out.startswith("written: 2 parts in files of ")
    assert "kept: 2 parts" in run("summarize", store, "--to", folder).out
    found = run("find", store, "--key", "k3", "--summary", folder)
    assert found.out == run("find", store, "--key", "k3").out != ""
    assert run("summarize", store, "--to", folder, "--jobs", "2").code == 2


def test_a_read_without_conditions_asks_no_summary(small: tuple[Path, Path]) -> None:
    store, folder = small
    assert nr.open(store).messages(summary=folder, where="body_size > 0").explain().to_dict()["ways"][0]["summary"]["not_used"] != []
    assert AccessRead(files_of(), And(()), "auto", summary=folder / "empty").ways == {"scan"}


def test_a_stream_ignores_a_summary(small: tuple[Path, Path]) -> None:
    store, folder = small
    with nr.open(store).follow(start="earliest", topic="T1", columns="physical_offset,topic", summary=folder) as arrivals:
        for batch in arrivals:
            arrivals.stop()
            found = sorted(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    assert found == rows_of(store, topic="T1", access="scan")[: len(found)] != []
