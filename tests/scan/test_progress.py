"""The progress of a read: what a function gets, and what a bar shows."""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from threading import get_ident
from time import sleep
from typing import Any

import pytest
from support.documented import ROOT
from support.indexed_stores import SLOTS, indexed
from support.queued_stores import dispatched, numbered
from support.stores import files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.lazy import TableScan
from native_reader.scan import progress
from native_reader.scan.progress import Bar, Lines, Meter, Progress, line_of
from native_reader.sentences import Said
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.memory import MemoryStorage


@pytest.fixture
def memory() -> MemoryStorage:
    return in_memory(files_of(log_of(200)))


@pytest.fixture
def store(memory: MemoryStorage) -> nr.Store:
    return nr.open(memory.url)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


READS: dict[str, Callable[[Any, Any], object]] = {
    "to_table": lambda scan, watch: scan.to_table(progress=watch),
    "to_batches": lambda scan, watch: list(scan.to_batches(progress=watch)),
    "count_rows": lambda scan, watch: scan.count_rows(progress=watch),
    "to_table in parallel": lambda scan, watch: scan.to_table(jobs=3, progress=watch),
    "count_rows in parallel": lambda scan, watch: scan.count_rows(3, watch),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("table", ["messages", "segments"])
def test_a_function_is_called_as_parts_are_read(
    store: nr.Store, monkeypatch: pytest.MonkeyPatch, read: Callable[[Any, Any], object], table: str
) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0)
    reports: list[Progress] = []
    scan = store.table(table)
    read(scan, reports.append)
    parts = len(scan.plan().splits) if isinstance(scan, nr.Scan) else len(scan.parts())  # type: ignore[attr-defined]
    assert len(reports) > parts > 4
    assert [each.done for each in reports] == sorted(each.done for each in reports)
    assert {each.total for each in reports} == {reports[-1].done}
    assert reports[-1].rows == scan.to_table().num_rows
    assert reports[-1].share == 1
    assert reports[-1].seconds_left == 0
    assert all(one.seconds <= other.seconds for one, other in pairwise(reports))


@pytest.fixture
def one_part(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    """A store whose tables have one part each. Queues and index are read in small pieces."""
    monkeypatch.setattr(progress, "_EVERY", 0)
    monkeypatch.setattr("native_reader.sides.queues._PIECE", 40)
    monkeypatch.setattr("native_reader.tables.index_entries._AT_ONCE", 3)
    body = b"x" * (256 << 10)
    log = log_of(numbered(message(number, body=body) for number in range(36)), segment_size=16 << 20)
    offsets = {"store/config/consumerOffset.json": b'{"offsetTable":{"T0@g":{0:3},"T1@g":{0:2},"T2@g":{0:1}}}'}
    return in_memory(files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed, entries=200) | offsets)


OF_PARTS: dict[str, dict[str, Any]] = {
    "messages": {},
    "segments": {},
    "damage": {},
    "duplicates": {},
    "topics": {},
    "topics from the log": {"access": "scan"},
    "queues": {},
    "queue_entries": {},
    "consumer_offsets": {},
    "lag_by_tag": {},
    "index_entries": {"columns": "hash", "max_hash_slot_num": SLOTS},
}


@pytest.mark.parametrize("name", OF_PARTS)
def test_progress_moves_within_a_part(one_part: MemoryStorage, name: str) -> None:
    scan = nr.open(one_part.url).table(name.partition(" ")[0], **OF_PARTS[name])
    reports: list[Progress] = []
    scan.to_table(progress=reports.append)
    assert len(scan.plan().splits if isinstance(scan, nr.Scan) else scan.parts()) == 1
    done = [each.done for each in reports]
    assert done == sorted(done)
    assert len({each for each in done if 0 < each < reports[-1].total}) >= 2
    assert reports[-1].share == 1


def test_progress_of_an_export_moves_within_a_task(one_part: MemoryStorage, tmp_path: Path) -> None:
    reports: list[Progress] = []
    nr.open(one_part.url).messages().export(tmp_path / "out", progress=reports.append)
    assert len({each.done for each in reports if 0 < each.done < reports[-1].total}) >= 2
    assert reports[-1].share == 1


def test_a_function_is_called_only_in_the_thread_that_uses_the_rows(one_part: MemoryStorage) -> None:
    """While other threads read: here a slow storage, and one part that is read in a thread of its own."""
    faulty = FaultyStorage(one_part.url)
    scan = nr.open(f"{faulty.url}/store").table("segments")
    assert isinstance(scan, TableScan)
    assert len(scan.parts()) == 1
    faulty.fault = lambda call, uri, offset: sleep(0.1)
    called: list[tuple[int, int]] = []
    scan.to_table(jobs=2, progress=lambda state: called.append((get_ident(), state.done)))
    assert {thread for thread, _ in called} == {get_ident()}
    assert len({done for _, done in called}) > 2


def test_a_part_counts_no_more_than_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0)
    reports: list[Progress] = []
    meter = Meter(reports.append, 30)
    with meter:
        one, other = meter.part(10), meter.part(20)
        for count in (4, 5, 6, 7):
            one.advance(count)
        other.advance(3)
        one.end(rows=2)
        other.end(rows=5)
    assert [(each.done, each.rows) for each in reports] == [(4, 0), (9, 0), (10, 0), (10, 0), (13, 0), (13, 2), (30, 7), (30, 7)]


def test_an_error_of_the_function_ends_the_read(store: nr.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0)

    def stop(state: Progress) -> None:
        raise KeyboardInterrupt

    for jobs in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            store.messages().to_table(jobs, progress=stop)


@pytest.mark.parametrize("wrong", [None, "yes", 1, [], {"a": 1}])
def test_what_is_neither_a_flag_nor_a_function(store: nr.Store, wrong: Any) -> None:
    for table in ("messages", "segments"):
        with pytest.raises(nr.OptionError, match=r"^progress must be True, False or a function, not "):
            store.table(table).to_table(progress=wrong)


def test_nothing_is_printed_where_there_is_no_terminal(
    store: nr.Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0)
    monkeypatch.setattr(progress, "_QUIET", 0)
    assert store.messages().count_rows(progress=True) == 200
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", None)
    assert store.messages().count_rows(progress=True) == 200


def test_a_bar_on_a_terminal(store: nr.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert store.messages().count_rows(progress=True) == 200
    assert terminal.getvalue() == ""  # shorter than a second
    monkeypatch.setattr(progress, "_QUIET", 0)
    assert store.messages().count_rows(progress=True) == 200
    lines = terminal.getvalue().split("\r")
    assert lines[-1].startswith("\x1b[K[####################] 100%  ")
    assert lines[-1].endswith("/s\n")
    batches = store.messages(max_partition_bytes=300).to_batches(progress=True)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert terminal.getvalue().endswith("\n")


def test_a_bar_says_how_long_it_will_take() -> None:
    terminal, now = Terminal(), [100.0]
    bar, meter = Bar(terminal), Meter(False, 4 << 30, lambda: now[0])
    meter._watcher = bar
    with meter:
        now[0] = 100.5
        meter.add(0, 0)
        assert terminal.getvalue() == ""
        for seconds, done, rows in ((110, 1 << 30, 1_000_000), (110.1, 1 << 20, 5), (10_000, 1 << 20, 7)):
            now[0] = seconds
            meter.add(done, rows)
        now[0] = 11_000
        meter.add((3 << 30) - (2 << 20), 0)
    assert terminal.getvalue().split("\r\x1b[K")[1:] == [
        "[#####               ]  25%  1.0 GiB of 4.0 GiB, 102.4 MiB/s, 30 s left",
        "[#####               ]  25%  1.0 GiB of 4.0 GiB, 106.1 KiB/s, 8:13 h left",
        "[####################] 100%  4.0 GiB of 4.0 GiB, 384.8 KiB/s",
        "[####################] 100%  4.0 GiB of 4.0 GiB, 384.8 KiB/s\n",
    ]
    assert Progress(0, 0, 0, 1.0).share == 1
    assert Progress(0, 10, 0, 1.0).seconds_left is None


def test_a_bar_says_which_of_several_reads_it_is() -> None:
    terminal = Terminal()
    bar = Bar(terminal, "saving", "checking")
    for done, seconds in ((1, 2.0), (4, 3.0), (1, 2.0), (4, 3.0)):
        bar(Progress(done, 4, 0, seconds))
    assert re.findall(r"\x1b\[K(\w+) \[", terminal.getvalue()) == ["saving", "saving", "checking", "checking"]
    bar = Bar(terminal, "saving", "checking")
    bar(Progress(0, 0, 0, 0.0))  # nothing was left to save
    bar(Progress(1, 9, 0, 2.0))
    assert terminal.getvalue().rpartition("\x1b[K")[2].startswith("checking [")


@pytest.mark.parametrize(
    ("done", "total", "seconds", "line"),
    [
        (0, 100, 2, "[                    ]   0%  0 bytes of 100 bytes"),
        (100, 100, 2, "[####################] 100%  100 bytes of 100 bytes, 50 bytes/s"),
        (0, 0, 2, "[####################] 100%  0 bytes of 0 bytes"),
        (1, 3601, 1, "[                    ]   0%  1 byte of 3.5 KiB, 1 byte/s, 1:00 h left"),
        (1, 126, 1, "[                    ]   1%  1 byte of 126 bytes, 1 byte/s, 2:05 min left"),
    ],
)
def test_the_line_of_a_bar(done: int, total: int, seconds: float, line: str) -> None:
    assert line_of("", Progress(done, total, 0, seconds)) == line


def test_a_line_a_minute_where_nobody_sees_a_bar() -> None:
    """Also over reads that follow each other, each shorter than a minute."""
    log, now = io.StringIO(), [0.0]
    lines = Lines(log, "saving", "checking", clock=lambda: now[0])
    for _ in range(2):
        begun = now[0]
        with Meter(lines, 40 << 26, lambda: now[0]) as meter:
            for _ in range(40):
                now[0] += 2.5
                meter.add(1 << 26, 0)
        assert now[0] == begun + 100
    assert log.getvalue().splitlines() == [
        "saving: 60 %, 1.5 GiB of 2.5 GiB, 40 s left",
        "checking: 20 %, 512.0 MiB of 2.5 GiB, 1:20 min left",
        "checking: 80 %, 2.0 GiB of 2.5 GiB, 20 s left",
    ]


def test_a_line_before_the_first_byte_and_without_a_label_and_in_chinese() -> None:
    log, now = io.StringIO(), [0.0]
    for language in ("en", "zh"):
        lines = Lines(log, language=language, clock=lambda: now[0])
        now[0] += 61
        lines(Progress(0, 1 << 20, 0, 61.0))
        lines.label("checking")
        now[0] += 59
        lines(Progress(1, 1 << 20, 0, 120.0))
        now[0] += 1
        lines(Progress(1 << 19, 1 << 20, 0, 121.0))
        lines.close()
    assert log.getvalue().splitlines() == [
        "0 %, 0 bytes of 1.0 MiB",
        "checking: 50 %, 512.0 KiB of 1.0 MiB, 2:01 min left",
        "0%，0 字节，共 1.0 MiB",
        "检查：50%，512.0 KiB，共 1.0 MiB，还需 2 分 01 秒",
    ]


def test_every_label_of_a_bar_is_a_word_in_both_languages() -> None:
    paths = [path for folder in ("rmqstore/cli", "native_reader/repair") for path in (ROOT / folder).rglob("*.py")]
    calls = [each for path in paths for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(each, ast.Call)]
    named = [call for call in calls if (getattr(call.func, "id", None) or getattr(call.func, "attr", None)) in ("bar", "doing")]
    values = [each.value for call in named for argument in call.args for each in ast.walk(argument) if isinstance(each, ast.Constant)]
    labels = {str(value) for value in values}
    assert {"reading", "saving", "checking a", "copying", "comparing"} <= labels
    for label in labels:
        assert Said(f"now {label}").text("zh") != Said(f"now {label}").text("en") == label
