"""Changes stores of real brokers at random and compares both decoders: python tests/fuzz.py --seconds 60 (`make fuzz`).

A finding ends the run and prints its seed. To repeat it: python tests/fuzz.py --seed 123 --inputs 1. Then add a test with these bytes,
named after the fault.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from support.compare import InMemory, Segments, same
from support.golden import unpack
from support.own_stores import NAMES, STORES
from support.plain_decoder import walk

MOST_BYTES = 12 << 10
COMPARED_WHOLE = 25
"""One in this many inputs is compared in every column and mode, and in splits; the others only in offsets, damage and byte counts."""
_INTERESTING = (0, 1, -1, 127, 128, 255, 256, 32767, -32768, 65535, 2**31 - 1, -(2**31), -626843481, -626843477, -875286124, 88, 91, 92)
_COLUMNS = ["physical_offset", "topic", "keys", "body", "properties", "msg_id", "kind", "born_host", "corrupt_reason"]


class Store(NamedTuple):
    name: str
    framing: str
    segments: Segments


def stores() -> list[Store]:
    """The stores in this repository, truncated because the plain decoder is slow."""
    loaded = []
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            store = unpack(name, Path(folder), STORES)
            segments, room = [], MOST_BYTES
            for base, content in store.segments[:3]:
                written = content.rstrip(b"\0")
                whole = len(written) + 200 < room
                segments.append((base, content if whole and len(content) <= room else (written + bytes(200))[:room]))
                room -= len(segments[-1][1])
                if room < 1000:
                    break
            loaded.append(Store(name, store.framing, segments))
    return loaded


def flip(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    for _number in range(chance.choice([1, 1, 2, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def overwrite(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    at, size = chance.randrange(len(data)), chance.choice([1, 4, 40, 400])
    data[at : at + size] = chance.randbytes(len(data[at : at + size]))


def zero(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    at, size = chance.randrange(len(data)), chance.choice([1, 8, 64, 512, 4096])
    data[at : at + size] = bytes(len(data[at : at + size]))


def copy(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    size = chance.randrange(1, 2 + len(data) // 2)
    source, target = chance.randrange(len(data) - size + 1), chance.randrange(len(data) - size + 1)
    data[target : target + size] = data[source : source + size]


def insert(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    at = chance.randrange(len(data))
    data[at:at] = chance.randbytes(chance.choice([1, 7, 100]))


def delete(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.choice([1, 4, 100, 1000])]


def cut(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    del data[chance.randrange(len(data)) :]


def number(chance: random.Random, data: bytearray, _: list[Store]) -> None:
    """Write a boundary value, most often into a record's head."""
    at = chance.randrange(len(data))
    heads = [place - 4 for place in (data.find(b"\xda\xa3\x20", at), data.find(b"\xcb\xd4\x31\x94", at)) if place >= 4]
    if heads and chance.random() < 0.8:
        at = chance.choice(heads) + chance.choice([0, 0, 4, 8, 20, 28, 32, 36, 84, 88, chance.randrange(120)])
    value = chance.choice([*_INTERESTING, chance.getrandbits(31), len(data) - at])
    size = chance.choice([1, 2, 4, 4, 8])
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "big")[: len(data) - at]


def splice(chance: random.Random, data: bytearray, known: list[Store]) -> None:
    """Overwrite with bytes of another store or segment."""
    _, other = chance.choice(chance.choice(known).segments)
    if other:
        begin, size = chance.randrange(len(other)), chance.choice([50, 300, 3000])
        at = chance.randrange(len(data))
        piece = other[begin : begin + size]
        data[at : at + len(piece)] = piece[: max(0, len(data) - at)]


MUTATIONS: tuple[Callable[[random.Random, bytearray, list[Store]], None], ...] = (
    flip, flip, overwrite, zero, copy, insert, delete, cut, number, number, number, splice,
)  # fmt: skip


def mutated(seed: int, known: list[Store]) -> tuple[Store, Segments]:
    chance = random.Random(seed)
    store = chance.choice(known)
    segments = [(base, bytearray(content)) for base, content in store.segments]
    for _ in range(chance.choice([1, 1, 2, 3, 6])):
        _, data = chance.choice(segments)
        if data:
            chance.choice(MUTATIONS)(chance, data, known)
    if chance.random() < 0.02:
        del segments[chance.randrange(len(segments))]
    # A segment that grew must not overlap the next one.
    ends = [*(base for base, _ in segments[1:]), 2**63][: len(segments)]
    return store, [(base, bytes(data[: end - base])) for (base, data), end in zip(segments, ends, strict=True)]


def check(seed: int, known: list[Store]) -> bool:
    """Compare one input; raises on a difference. Returns whether a valid record is left."""
    store, segments = mutated(seed, known)
    if seed % COMPARED_WHOLE == 0:
        return len(same(segments, store.framing, random.Random(seed).choice([1 << 27, 1 << 27, 3000, 500]))) > 0
    plain = walk([each for each in segments if each[1]], store.framing, lenient=True)
    stored = InMemory(segments, store.framing)
    run = stored.messages(columns=_COLUMNS, mode="PERMISSIVE", fail_on_data_loss=False).run()
    offsets: list[int] = []
    for batch in run:
        batch.validate(full=True)
        kept = batch.filter(batch["topic"].is_valid())
        offsets += kept["physical_offset"].to_pylist()
    report = run.report
    assert offsets == [row["physical_offset"] for row in plain.rows]
    assert [(each.start, each.end) for each in report.damage] == [each[1:] for each in plain.damage]
    accounts = [(each.base, each.record_bytes, each.blank_bytes, each.damage_bytes, each.unwritten_bytes) for each in report.segments]
    assert accounts == [tuple(each) for each in plain.segments]
    return bool(offsets)


def work(first: int, step: int, until: float, inputs: int) -> tuple[int, int, str]:
    """Check inputs; returns their number, the number with a valid record left, and the finding that ended it."""
    logging.getLogger("native_reader").setLevel(logging.ERROR)
    known, done, alive = stores(), 0, 0
    for seed in range(first, first + inputs * step, step):
        if time.monotonic() > until:
            break
        try:
            alive += check(seed, known)
        except Exception as error:  # every exception is a finding
            return done, alive, f"seed {seed}: {type(error).__name__}: {error}"[:2000]
        done += 1
    return done, alive, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--inputs", type=int, default=1 << 40)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 40))
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    jobs, begun = min(arguments.jobs, arguments.inputs), time.monotonic()
    with ProcessPoolExecutor(jobs) as workers:
        places = [(arguments.seed + job, jobs, begun + arguments.seconds, -(-arguments.inputs // jobs)) for job in range(jobs)]
        results = [future.result() for future in [workers.submit(work, *place) for place in places]]
    done, alive = sum(each[0] for each in results), sum(each[1] for each in results)
    findings = [each[2] for each in results if each[2]]
    took, share = time.monotonic() - begun, alive / max(done, 1)
    sys.stdout.write(f"{done:,} inputs from seed {arguments.seed} in {took:,.0f} s, {share:.0%} of them with a valid record left\n")
    sys.stdout.writelines(f"{finding}\n" for finding in findings)
    return 1 if findings or (done > 100 and share < 0.5) else 0


if __name__ == "__main__":
    sys.exit(main())
