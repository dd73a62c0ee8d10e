"""Stores whose log was truncated and then extended: whole old records follow its end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from recipe import SEED, Answers, Recipe, keep, sent
from rocketmq import Broker, Java, running

PAGE = 4096
_V1 = b"\xda\xa3\x20\xa7"


class OldRecords(NamedTuple):
    """The end of a log, the whole old records after it, and whether these are all older than the last record of the log."""

    end: int
    begins: int
    records: int
    older: bool


def old_records(log: Path) -> OldRecords:
    """Find the old records, by the sizes and offsets in the records of the newest segment."""
    newest = written(log)
    base, content = int(newest.name), newest.read_bytes()
    true = _run(content, base, 0)
    end = true[-1][1] if true else 0
    old: list[tuple[int, int, int]] = []
    at = content.find(_V1, end)
    while at >= 0:
        run = _run(content, base, at - 4)
        old += run
        at = content.find(_V1, run[-1][1] if run else at + 4)
    return OldRecords(base + end, base + old[0][0] if old else base + end, len(old), all(stored < true[-1][2] for *_, stored in old))


def written(log: Path) -> Path:
    """The newest segment that holds data. A broker preallocates the next one."""
    return max(segment for segment in log.iterdir() if any(segment.read_bytes()))


def _run(content: bytes, base: int, position: int) -> list[tuple[int, int, int]]:
    """Start, end and store time of the consecutive records from that position on."""
    found = []
    while content[position + 4 : position + 8] == _V1 and int.from_bytes(content[position + 28 : position + 36], "big") == base + position:
        size = int.from_bytes(content[position : position + 4], "big")
        found.append((position, position + size, int.from_bytes(content[position + 56 : position + 64], "big")))
        position += size
    return found


def lost_page(recipe: Recipe, home: Path, target: Path) -> Answers:
    """A broker is killed three times. Once, a page of its newest segment is lost, and its recovery truncates the log there."""
    lines: Answers = []
    with running(Java(recipe.version), home, **recipe.settings) as broker:
        for life, (messages, loses) in enumerate(((150, False), (90, True), (24, False))):
            lines += sent(broker, "plain", messages, seed=SEED + life)
            time.sleep(1.5)  # the broker writes the queues and a checkpoint
            broker.kill()
            if loses:
                zero_a_page(broker.store / "commitlog")
            broker.start()
        broker.stop()
        keep_truncated(broker, target)
    return lines


def keep_truncated(broker: Broker, target: Path) -> None:
    """Copy the store. Old records must follow its end, after part of another one."""
    keep(broker.store, target)
    cut = old_records(target / "commitlog")
    assert cut.end < cut.begins, "new records end where an old one begins: send messages of other sizes"
    assert cut.records > 10
    assert cut.older


def zero_a_page(log: Path) -> None:
    """Zero the page in the middle of the newest segment's data."""
    newest = written(log)
    at = len(newest.read_bytes().rstrip(b"\0")) // 2 // PAGE * PAGE
    with newest.open("r+b") as segment:
        segment.seek(at)
        segment.write(bytes(PAGE))
