"""Stores whose log was cut off and written on: whole old records lie behind its end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from recipe import SEED, Recipe, Told, keep, sent
from rocketmq import Broker, Java, running

PAGE = 4096
_V1 = b"\xda\xa3\x20\xa7"


class Behind(NamedTuple):
    """The end of a log; where whole old records begin behind it, how many they are, and whether all are older than what is before it."""

    end: int
    begins: int
    records: int
    older: bool


def behind(log: Path) -> Behind:
    """By the sizes and places that the newest segment's records tell."""
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
    return Behind(base + end, base + old[0][0] if old else base + end, len(old), all(stored < true[-1][2] for *_, stored in old))


def written(log: Path) -> Path:
    """The newest segment that holds something; a broker makes the next one before it needs it."""
    return max(segment for segment in log.iterdir() if any(segment.read_bytes()))


def _run(content: bytes, base: int, position: int) -> list[tuple[int, int, int]]:
    """Begin, end and store time of the records that follow each other from there."""
    found = []
    while content[position + 4 : position + 8] == _V1 and int.from_bytes(content[position + 28 : position + 36], "big") == base + position:
        size = int.from_bytes(content[position : position + 4], "big")
        found.append((position, position + size, int.from_bytes(content[position + 56 : position + 64], "big")))
        position += size
    return found


def lost_page(recipe: Recipe, home: Path, target: Path) -> Told:
    """A broker is killed three times; once a page of its newest segment is lost, and its recovery cuts the log there."""
    told: Told = []
    with running(Java(recipe.version), home, **recipe.settings) as broker:
        for life, (messages, loses) in enumerate(((150, False), (90, True), (24, False))):
            told += sent(broker, "plain", messages, seed=SEED + life)
            time.sleep(1.5)  # the queues are written, and a checkpoint
            broker.kill()
            if loses:
                zero_a_page(broker.store / "commitlog")
            broker.start()
        broker.stop()
        keep_what_was_cut(broker, target)
    return told


def keep_what_was_cut(broker: Broker, target: Path) -> None:
    """A copy of its store, in which old records lie behind the end and some bytes of another one between."""
    keep(broker.store, target)
    cut = behind(target / "commitlog")
    assert cut.end < cut.begins, "new records end where an old one begins: send messages of other sizes"
    assert cut.records > 10
    assert cut.older


def zero_a_page(log: Path) -> None:
    """The one in the middle of what the newest segment holds."""
    newest = written(log)
    at = len(newest.read_bytes().rstrip(b"\0")) // 2 // PAGE * PAGE
    with newest.open("r+b") as segment:
        segment.seek(at)
        segment.write(bytes(PAGE))
