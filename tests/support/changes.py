"""Random changes to the bytes of a log: what disks, crashes and forgers can leave."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

_INTERESTING = (0, 1, -1, 127, 128, 255, 256, 32767, -32768, 65535, 2**31 - 1, -(2**31), -626843481, -626843477, -875286124, 88, 91, 92)


def flip(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    for _number in range(chance.choice([1, 1, 2, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def overwrite(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at, size = chance.randrange(len(data)), chance.choice([1, 4, 40, 400])
    data[at : at + size] = chance.randbytes(len(data[at : at + size]))


def zero(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at, size = chance.randrange(len(data)), chance.choice([1, 8, 64, 512, 4096])
    data[at : at + size] = bytes(len(data[at : at + size]))


def copy(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    size = chance.randrange(1, 2 + len(data) // 2)
    source, target = chance.randrange(len(data) - size + 1), chance.randrange(len(data) - size + 1)
    data[target : target + size] = data[source : source + size]


def insert(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = chance.randrange(len(data))
    data[at:at] = chance.randbytes(chance.choice([1, 7, 100]))


def delete(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.choice([1, 4, 100, 1000])]


def cut(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[chance.randrange(len(data)) :]


def number(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Write a boundary value, most often into a record's head."""
    at = chance.randrange(len(data))
    marks = (b"\xda\xa3\x20", b"\xcb\xd4\x31\x94")
    heads = [place - 4 for mark in marks if (place := max(data.find(mark, at), data.find(mark))) >= 4]
    if heads and chance.random() < 0.8:
        at = chance.choice(heads) + chance.choice([0, 0, 4, 8, 20, 28, 32, 36, 84, 88, chance.randrange(120)])
    value = chance.choice([*_INTERESTING, chance.getrandbits(31), len(data) - at])
    size = chance.choice([1, 2, 4, 4, 8])
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "big")[: len(data) - at]


def splice(chance: random.Random, data: bytearray, others: Sequence[bytes]) -> None:
    """Overwrite with bytes of another log."""
    other = chance.choice(others)
    if other:
        begin, size = chance.randrange(len(other)), chance.choice([50, 300, 3000])
        at = chance.randrange(len(data))
        piece = other[begin : begin + size]
        data[at : at + len(piece)] = piece[: max(0, len(data) - at)]


def separate(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Write bytes that separate properties, or that no UTF-8 text has there, most often after the head."""
    for _number in range(chance.choice([1, 1, 2, 5])):
        low = min(chance.choice([0, 88, 88, 120]), len(data) - 1)
        data[chance.randrange(low, len(data))] = chance.choice(
            [0, 1, 1, 1, 2, 2, 2, 32, 32, 0x7F, 0x80, 0xBF, 0xC3, 0xE0, 0xED, 0xF0, 0xFF]
        )


def repeat(chance: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Copy a few bytes to a near place, as of a property's name."""
    size = chance.randrange(1, 20)
    source = chance.randrange(len(data))
    target = source + chance.randrange(-60, 60)
    piece = data[source : source + size]
    if 0 <= target <= len(data) - len(piece):
        data[target : target + len(piece)] = piece


Mutation = Callable[[random.Random, bytearray, Sequence[bytes]], None]
OF_LOGS: tuple[Mutation, ...] = (flip, flip, overwrite, zero, copy, insert, delete, cut, number, number, number, splice)
OF_RECORDS: tuple[Mutation, ...] = (*OF_LOGS, *[separate] * 6, *[repeat] * 4, *[flip] * 4)
"""Most of these leave the record valid."""
