"""Damage to the files of a store, as disks, crashes and people leave it. Each function changes a store in place."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

PAGE = 4096
_V1 = 0xDAA320A7


def segments(store: Path) -> list[Path]:
    """The segments with records."""
    return [path for path in sorted((store / "commitlog").iterdir()) if records(path)]


def records(segment: Path) -> list[tuple[int, int]]:
    """Position and size of each record, up to the first byte that is none."""
    content, at, found = segment.read_bytes(), 0, []
    while at + 8 <= len(content):
        size, magic = struct.unpack_from(">iI", content, at)
        if magic != _V1 or size <= 0:  # a damaged size of 0 leads nowhere
            break
        found.append((at, size))
        at += size
    return found


def patch(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def of_another_broker(segment: Path, after: Path) -> None:
    """The next segment, as a broker at another address would have written it at that place."""
    content, size = bytearray(after.read_bytes()), int(after.name) - int(segment.name)
    for at, _ in records(after):
        offset, place = struct.unpack_from(">qq", content, at + 20)
        struct.pack_into(">qq", content, at + 20, offset + 70_000, place - size)
        content[at + 64 : at + 68] = bytes((10, 20, 30, 40))
    segment.write_bytes(content)


def _middle(store: Path) -> tuple[Path, int]:
    segment = segments(store)[1]
    found = records(segment)
    return segment, found[len(found) // 2][0]


def wrong_magic(store: Path, chance: Random) -> None:
    segment, at = _middle(store)
    patch(segment, at + 4, b"\x5a\xa3")


def wrong_size(store: Path, chance: Random) -> None:
    segment, at = _middle(store)
    patch(segment, at, b"\x7f\xff\xff\xff")


def body_bit(store: Path, chance: Random) -> None:
    segment, at = _middle(store)
    patch(segment, at + 95, bytes([segment.read_bytes()[at + 95] ^ 1]))


def torn_properties(store: Path, chance: Random) -> None:
    """Zeros in the place of the tag and the keys of one record. No checksum covers them."""
    segment, at = _middle(store)
    size = dict(records(segment))[at]
    begin = min(segment.read_bytes().index(name, at, at + size) for name in (b"UNIQ_KEY", b"TAGS", b"KEYS"))
    patch(segment, begin, bytes(at + size - begin))


def lost_property(store: Path, name: bytes) -> tuple[int, int]:
    """Zeros over the name of that property of one record, whose later properties stay. Returns its offset and size."""
    segment = segments(store)[1]
    content = segment.read_bytes()
    names = [each + b"\1" for each in (b"TAGS", b"KEYS", b"WAIT")]
    at, size = next(each for each in records(segment) if all(name in content[each[0] : sum(each)] for name in names))
    patch(segment, content.index(name + b"\1", at), bytes(len(name) + 2))
    return int(segment.name) + at, size


def page_of_zeros(store: Path, chance: Random) -> None:
    segment = segments(store)[-2]
    patch(segment, chance.randrange(2, segment.stat().st_size // PAGE - 2) * PAGE, bytes(PAGE))


def random_bytes(store: Path, chance: Random) -> None:
    segment = segments(store)[0]
    patch(segment, segment.stat().st_size // 3, chance.randbytes(segment.stat().st_size // 5))


def truncated_segment(store: Path, chance: Random) -> None:
    segment = segments(store)[1]
    os.truncate(segment, segment.stat().st_size // 2)


def missing_segment(store: Path, chance: Random) -> None:
    segments(store)[1].unlink()


def zeroed_segment(store: Path, chance: Random) -> None:
    segment = segments(store)[1]
    patch(segment, 0, bytes(segment.stat().st_size))


def first_page(store: Path, chance: Random) -> None:
    patch(segments(store)[0], 0, bytes(PAGE))


def tail(store: Path, chance: Random) -> None:
    """Random bytes over a few of the last records; those after them are whole."""
    segment = segments(store)[-1]
    found = records(segment)
    patch(segment, found[-min(12, len(found) // 2)][0], chance.randbytes(1500))


def cut_tail(store: Path, chance: Random) -> None:
    """The last three records were never written."""
    segment = segments(store)[-1]
    at = records(segment)[-3][0]
    patch(segment, at, bytes(segment.stat().st_size - at))


def no_queues(store: Path, chance: Random) -> None:
    shutil.rmtree(store / "consumequeue")


def no_index(store: Path, chance: Random) -> None:
    shutil.rmtree(store / "index")


def queue_page(store: Path, chance: Random) -> None:
    files = sorted(path for path in (store / "consumequeue").rglob("0*") if path.is_file())
    path = chance.choice(files)
    patch(path, 0, bytes(path.stat().st_size // 2))


def several(store: Path, chance: Random) -> None:
    random_bytes(store, chance)
    page_of_zeros(store, chance)
    tail(store, chance)
    truncated_segment(store, chance)


def several_and_no_queues(store: Path, chance: Random) -> None:
    several(store, chance)
    first_page(store, chance)
    no_queues(store, chance)


def random_part(store: Path, chance: Random) -> None:
    """Random bytes, ones or zeros, anywhere in the log or in a queue: one bit of disks, a sector, or a page and more."""
    files = [path for path in sorted(store.rglob("0*")) if path.is_file() and path.parent.name != "index"]
    path = chance.choice(segments(store) if chance.random() < 0.7 else files)
    size = min(chance.choice((1, 4, 60, 512, PAGE, 3 * PAGE)), path.stat().st_size)
    content = chance.choice((chance.randbytes(size), bytes(size), b"\xff" * size))
    patch(path, chance.randrange(path.stat().st_size - size + 1), content)


def several_at_random(store: Path, chance: Random) -> None:
    """Two to five damages; those that are no longer possible after the others are left out."""
    kinds = (random_part, *(each for each in DAMAGES if each not in (several, several_and_no_queues, several_at_random)))
    for damage in chance.choices(kinds, weights=(8, *(1,) * (len(kinds) - 1)), k=chance.randint(2, 5)):
        with suppress(IndexError, FileNotFoundError):
            damage(store, chance)


Damage = Callable[[Path, Random], None]
DAMAGES: tuple[Damage, ...] = (
    wrong_magic, wrong_size, body_bit, page_of_zeros, random_bytes, truncated_segment, missing_segment, zeroed_segment, first_page, tail,
    cut_tail, no_queues, no_index, queue_page, several, several_and_no_queues,
)  # fmt: skip
