"""Damage drawn at random to what a broker reads when it starts: the log, queues, settings, and how it was stopped."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

from native_reader.writing.records import checkpoint
from support import unstarted
from support.store_damages import records
from support.unstarted import SEGMENT, patch

Damage = Callable[[Random, Path], object]
_FAR = 1 << 33


def zeros(random: Random, store: Path) -> None:
    """In the log."""
    segment, size = random.choice(unstarted.segments(store)), random.choice((20, 500, 4096))
    patch(segment, random.randrange(max(1, segment.stat().st_size - size)), bytes(size))


def a_bit(random: Random, store: Path) -> None:
    """In the log, at the end most often."""
    segment = _near_the_end(random, store)
    content = segment.read_bytes()
    at = random.randrange(len(content))
    patch(segment, at, bytes([content[at] ^ 1 << random.randrange(8)]))


def a_size(random: Random, store: Path) -> None:
    """Of a record: too small, or larger than a Java can take with any heap."""
    segment, at = a_record(random, store)
    patch(segment, at, struct.pack(">I", random.choice((0, 50, 90, 0x7FFFFFFF, 0xFFFFFFFF))))


def a_magic_code(random: Random, store: Path) -> None:
    segment, at = a_record(random, store)
    patch(segment, at + 4, random.choice((bytes(4), b"\x5a\xa3\x01\x02")))


def a_place(random: Random, store: Path) -> None:
    """A record says another place in the log than its own."""
    segment, at = a_record(random, store)
    patch(segment, at + 28, struct.pack(">q", random.choice((1, _FAR))))


def a_blank(random: Random, store: Path) -> None:
    """A record says that the rest of the segment is empty."""
    segment, at = a_record(random, store)
    patch(segment, at, struct.pack(">II", SEGMENT - at, 0xCBD43194))


def a_lost_segment(random: Random, store: Path) -> None:
    random.choice(unstarted.segments(store)).unlink()


def a_cut_segment(random: Random, store: Path) -> None:
    unstarted.truncate(_near_the_end(random, store), random.choice((0, 12_345, SEGMENT - 1)))


def a_lost_queue_file(random: Random, store: Path) -> None:
    if files := queue_files(store):
        random.choice(files).unlink()


def an_entry(random: Random, store: Path) -> None:
    """An entry of a queue that is none, or that leads nowhere."""
    if files := queue_files(store):
        path = random.choice(files)
        content = path.read_bytes()
        used = sum(any(content[at : at + 12]) for at in range(0, len(content), 20))
        entry = random.choice(((0, 0), (_FAR, 100), (5, -3), (-5, 100)))
        patch(path, 20 * random.randrange(max(1, used)), struct.pack(">qiq", *entry, 0))


def zeros_in_a_queue(random: Random, store: Path) -> None:
    if files := queue_files(store):
        path = random.choice(files)
        path.write_bytes(bytes(path.stat().st_size))


def a_cut_queue_file(random: Random, store: Path) -> None:
    if files := queue_files(store):
        unstarted.truncate(random.choice(files), random.choice((0, 20)))


def a_lost_queue(random: Random, store: Path) -> None:
    if queues := sorted({path.parent for path in queue_files(store)}):
        shutil.rmtree(random.choice(queues))


def a_lost_topic(random: Random, store: Path) -> None:
    if topics := sorted({path.parent.parent for path in queue_files(store)}):
        shutil.rmtree(random.choice(topics))


def no_queues(random: Random, store: Path) -> None:
    shutil.rmtree(store / "consumequeue", ignore_errors=True)


def stopped_or_killed(random: Random, store: Path) -> None:
    """The other of both."""
    abort = store / "abort"
    if abort.exists():
        abort.unlink()
    else:
        abort.touch()


def another_checkpoint(random: Random, store: Path) -> None:
    time = random.choice((0, 10, 4_102_444_800_000))
    if (store / "checkpoint").is_file():  # another damage makes it a folder
        (store / "checkpoint").write_bytes(checkpoint(time, time, random.choice((0, time))))


def settings(random: Random, store: Path) -> None:
    """One file that cannot be parsed, with and without the one before it."""
    names = "topics.json", "consumerOffset.json", "delayOffset.json", "topicQueueMapping.json", "timermetrics"
    path = store / "config" / random.choice(names)
    path.write_bytes(random.choice((b"{", b"", b"\xff")))
    backup = path.with_name(f"{path.name}.bak")
    backup.unlink(missing_ok=True)
    if random.random() < 0.5:
        backup.write_bytes(random.choice((b'{"', b"")))


def a_folder(random: Random, store: Path) -> None:
    """In the place of a file, or beside files."""
    queue = random.choice(["commitlog", *(f"{path.parent.relative_to(store)}" for path in queue_files(store)[:1])])
    name = random.choice((f"{queue}/old", "index/20991231235959000", "index/old", "checkpoint", "lock"))
    if (store / name).is_file():
        (store / name).unlink()
    (store / name).mkdir(parents=True)


def a_foreign_file(random: Random, store: Path) -> None:
    """Not the only file of a timer log: nothing tells then which size the broker's settings have."""
    queue = [f"{path.parent.relative_to(store)}/readme.txt" for path in queue_files(store)[:1]]
    name = random.choice(["commitlog/README.txt", f"commitlog/{'9' * 20}", "index/README", "timerwheel", *queue])
    (store / name).parent.mkdir(exist_ok=True)
    (store / name).write_bytes(bytes(random.choice((1, 600, SEGMENT))))


DRAWN: tuple[Damage, ...] = (
    zeros, a_bit, a_size, a_magic_code, a_place, a_blank, a_lost_segment, a_cut_segment, a_lost_queue_file, a_lost_queue_file, an_entry,
    an_entry, zeros_in_a_queue, a_cut_queue_file, a_lost_queue, a_lost_topic, no_queues, no_queues, stopped_or_killed, another_checkpoint,
    settings, a_folder, a_foreign_file,
)  # fmt: skip
"""The more often one is here, the more often it is drawn."""


def queue_files(store: Path) -> list[Path]:
    return sorted((store / "consumequeue").glob("*/*/0*"))


def a_record(random: Random, store: Path) -> tuple[Path, int]:
    """A segment, and the position of a record in it."""
    segment = _near_the_end(random, store)
    return segment, random.choice(records(segment) or [(0, 0)])[0]


def _near_the_end(random: Random, store: Path) -> Path:
    """A segment: one of those that each broker checks, or any."""
    segments = unstarted.segments(store)
    return random.choice(segments[-3:] if random.random() < 0.7 else segments)
