"""Flip every bit of a small store, cut it at every length, lose every block: two decoders agree on the rest.

The store has one record of each kind that a real broker wrote, in two segments. The gate runs a fixed sample,
and `make sweep` runs all of it.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import pytest
from support.compare import Segments, same
from support.effort import at_effort
from support.golden import unpack
from support.own_stores import STORES
from support.plain_decoder import walk

from native_reader.layout.record import BLANK_HEAD, MAGIC_BLANK

SHARDS = 16
SAMPLE = at_effort(2500, 1)
BLOCK = 512
SEGMENT, PLACE = 4608, 28
"""The size of a segment; and where a record has its own offset in the log."""

Records = list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Segments:
    """A broker's records, one of each kind, at new offsets. A blank ends the first segment, zeros the last."""
    store = unpack("5.5.0-rare", tmp_path_factory.mktemp("rare"), STORES)
    log = b"".join(path.read_bytes() for path in sorted((store.root / "commitlog").iterdir()))
    kinds: dict[object, bytes] = {}
    for row in walk([(0, log)]).rows:
        flag = row["sys_flag"]
        codec = flag & 0x700 if flag & 1 else min(flag & 0x700, 0x100)  # nothing is compressed: which one is not is all the same
        kind = (row["magic"], flag & ~0x700, codec, row["kind"], tuple(row["properties"]))
        kinds.setdefault(kind, log[row["physical_offset"] :][: row["record_size"]])
    first, last = bytearray(), bytearray()
    for record in kinds.values():
        into = first if len(first) + len(record) + BLANK_HEAD <= SEGMENT else last
        offset = len(first) if into is first else SEGMENT + len(last)
        into += record[:PLACE] + struct.pack(">q", offset) + record[PLACE + 8 :]
    first += struct.pack(">ii", SEGMENT - len(first), MAGIC_BLANK).ljust(SEGMENT - len(first), b"\0")
    return [(0, bytes(first)), (SEGMENT, bytes(last) + bytes(700))]


def records_of(segments: Segments) -> Records:
    """Segment, start and end of each record, as positions."""
    found = []
    for row in walk(segments).rows:
        base = max(base for base, _ in segments if base <= row["physical_offset"])
        start = row["physical_offset"] - base
        found.append((base, start, start + row["record_size"]))
    return sorted(set(found))


def check(whole: Segments, records: Records, which: int, content: bytes, seed: int) -> None:
    """Both decoders agree, and untouched records are there. Half of the changed segments are read alone, as a log of one segment."""
    base, before = whole[which]
    chance = random.Random(seed)
    alone = bool(content) and chance.random() < 0.5
    segments = [(base, content)] if alone else [each if number != which else (base, content) for number, each in enumerate(whole)]
    (most,) = chance.choices([1 << 27, 2000, 500, 60], [240, 24, 6, 1])  # a read in many parts takes long: 60 bytes are 140 parts
    table = same(segments, "plain", most, chance.choice([1, 1, 1, 3]))
    there = {first for first, _ in segments}
    kept = [each for each in records if each[0] in there and (each[0] != base or content[each[1] : each[2]] == before[each[1] : each[2]])]
    untouched = {start + first for first, start, _ in kept}
    assert untouched <= set(table["physical_offset"].to_pylist())


def sampled(count: int, shard: int, share: int = SAMPLE) -> Iterator[int]:
    """The numbers that this shard checks."""
    chance = random.Random(f"{count} {shard}")
    for number in range(shard, count, SHARDS):
        if share == 1 or chance.randrange(share) == 0:
            yield number


@pytest.mark.sweep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_bit_flipped(whole: Segments, shard: int) -> None:
    records = records_of(whole)
    assert len(records) > 30
    sizes = [8 * len(content) for _, content in whole]
    for number in sampled(sum(sizes), shard):
        which, bit = (0, number) if number < sizes[0] else (1, number - sizes[0])
        content = bytearray(whole[which][1])
        content[bit // 8] ^= 1 << bit % 8
        check(whole, records, which, bytes(content), number)


@pytest.mark.sweep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_truncation(whole: Segments, shard: int) -> None:
    records = records_of(whole)
    sizes = [len(content) for _, content in whole]
    for number in sampled(sum(sizes), shard, share=at_effort(300, 1)):
        which, length = (0, number) if number < sizes[0] else (1, number - sizes[0])
        check(whole, records, which, whole[which][1][:length], number)


@pytest.mark.sweep
@pytest.mark.parametrize("fault", ["zeroed", "duplicated", "removed", "taken from elsewhere"])
def test_every_block(whole: Segments, fault: str) -> None:
    records = records_of(whole)
    for which, (_, content) in enumerate(whole):
        for begin in range(0, len(content), BLOCK):
            block, after = content[begin : begin + BLOCK], content[begin + BLOCK :]
            other = content[(begin + 3 * BLOCK) % len(content) :][: len(block)].ljust(len(block), b"\0")
            new = {"zeroed": bytes(len(block)), "duplicated": 2 * block, "removed": b"", "taken from elsewhere": other}[fault]
            check(whole, records, which, (content[:begin] + new + after)[: len(content)], begin)
