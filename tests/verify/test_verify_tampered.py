"""A flipped bit in queue or index is found, wherever it is; and whatever the bytes are, a check ends with findings, not with an error."""

from __future__ import annotations

import pickle
import random

import pytest
from support.effort import thinned
from support.indexed_stores import ENTRIES, SLOTS
from support.stores import Files, in_memory
from support.verified import codes, findings, healthy

import native_reader as nr
from native_reader.verify.codes import NOTE

QUEUE = f"store/consumequeue/T1/0/{0:020}"
INDEX = "store/index/20261121000001000"
ENTRIES_AT = 40 + 4 * SLOTS
USED_SLOTS, FIRST_SECONDS = range(32, 36), range(ENTRIES_AT + 20 + 12, ENTRIES_AT + 20 + 16)
"""Brokers count used slots in two ways; the first time in a file counts from the file before. Neither is ever used."""


def flipped(files: Files, name: str, place: int, bit: int) -> Files:
    content = bytearray(files[name])
    content[place] ^= 1 << bit
    return files | {name: bytes(content)}


def is_found(files: Files) -> bool:
    return any(each["severity"] != NOTE for each in findings(files))


@pytest.mark.parametrize("part", range(4))
def test_every_byte_of_a_queue(part: int) -> None:
    _, files = healthy(24)
    places = range(part, 20 * 8, 4)
    assert [place for place in places if not is_found(flipped(files, QUEUE, place, place % 8))] == []


@pytest.mark.gate
@pytest.mark.parametrize("part", thinned(range(4), 2))
def test_every_byte_of_an_index_file(part: int) -> None:
    _, files = healthy(24)
    unused = {*USED_SLOTS, *FIRST_SECONDS, *range(ENTRIES_AT, ENTRIES_AT + 20)}
    places = [place for place in range(part, ENTRIES_AT + 20 * ENTRIES, 4) if place not in unused]
    assert [place for place in places if not is_found(flipped(files, INDEX, place, place % 8))] == []


@pytest.mark.parametrize("seed", range(60))
def test_any_bytes(seed: int) -> None:
    _, files = healthy(24)
    chance = random.Random(seed)
    for name in chance.sample(sorted(files), 3):
        content = bytearray(files[name])
        for _ in range(chance.choice((1, 20))):
            place = chance.randrange(len(content))
            size = min(chance.choice((1, 8)), len(content) - place)
            content[place : place + size] = chance.choice((bytes(size), chance.randbytes(size)))
        files |= {name: bytes(content[: chance.choice((len(content), chance.randrange(len(content))))])}
    assert codes(files)


def test_parts_can_be_sent_to_other_machines() -> None:
    _, files = healthy(24)
    memory = in_memory(files | {QUEUE: bytes(60) + files[QUEUE][60:]})
    table = nr.open(f"{memory.url}/store").table("findings")
    found = table.to_table()
    assert found.num_rows > 0
    table._parts = pickle.loads(pickle.dumps(table.parts()))
    assert table.to_table() == found
