"""Changes stores at random and reads them in two ways: `make fuzz`.

    python tests/fuzz.py --seconds 60             stores of real brokers, read by the engine and by the plain decoder
    python tests/fuzz.py --seconds 60 --kernels   small logs, read by both kernels of the engine: many more inputs a second
    python tests/fuzz.py --seconds 60 --fields    only properties, cut by both kernels: twenty times as many

`--inputs 1000000` instead of `--seconds` reads that many. A finding ends its process: the seed is printed, and the store is written to
build/fuzz. To repeat it: add --seed 123 --inputs 1. Then add a test with these bytes, named after the fault.
"""

from __future__ import annotations

import argparse
import functools
import logging
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from support.changed_fields import compare_fields, fields
from support.changed_logs import Log, all_records, changed_log
from support.changes import OF_LOGS
from support.compare import InMemory, Segments, same
from support.golden import unpack
from support.kernels import mark_by_both, read_by_both
from support.own_stores import NAMES, STORES
from support.plain_decoder import walk

from native_reader import kernel
from native_reader.columns.schema import COLUMNS
from native_reader.tuning import tuned

FINDINGS = Path(__file__).parents[1] / "build" / "fuzz"
MOST_BYTES = 12 << 10
COMPARED_WHOLE = 25
"""One in this many inputs is compared in every column and mode, and in splits; the others only in offsets, damage and byte counts."""
_COLUMNS = ["physical_offset", "topic", "keys", "body", "properties", "msg_id", "kind", "born_host", "corrupt_reason"]
_OF_KERNEL = sorted(kernel.COLUMNS)
_WITHOUT_REASON = [name for name in COLUMNS if name != "corrupt_reason"]
_CONDITIONS = ("queue_id < 3", "tags IS NOT NULL", "properties['a'] IS NULL AND kind = 'normal'", "body IS NOT NULL")


class Checked(NamedTuple):
    """How many inputs were compared, and how many of them still had a valid record."""

    inputs: int
    alive: int


class Store(NamedTuple):
    name: str
    framing: str
    segments: Segments


class Drawn(NamedTuple):
    """A log of this many changed records, and how it is read."""

    log: Log
    count: int
    options: dict[str, Any]
    decompressed_at_once: int


@functools.cache
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


def mutated(seed: int) -> Log:
    chance, known = random.Random(seed), stores()
    store = chance.choice(known)
    segments = [(base, bytearray(content)) for base, content in store.segments]
    others = [content for each in known for _, content in each.segments]
    for _ in range(chance.choice([1, 1, 2, 3, 6])):
        _, data = chance.choice(segments)
        if data:
            chance.choice(OF_LOGS)(chance, data, others)
    if chance.random() < 0.02:
        del segments[chance.randrange(len(segments))]
    # A segment that grew must not overlap the next one.
    ends = [*(base for base, _ in segments[1:]), 2**63][: len(segments)]
    return Log([(base, bytes(data[: end - base])) for (base, data), end in zip(segments, ends, strict=True)], store.framing)


def check(seed: int) -> Checked:
    """Compare the engine with the plain decoder on one changed store; raises on a difference."""
    segments, framing = mutated(seed)
    if seed % COMPARED_WHOLE == 0:
        table = same(segments, framing, random.Random(seed).choice([1 << 27, 1 << 27, 3000, 500]))
        return Checked(1, len(table) > 0)
    plain = walk([each for each in segments if each[1]], framing, lenient=True)
    stored = InMemory(segments, framing)
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
    return Checked(1, bool(offsets))


@functools.cache
def records() -> list[bytes]:
    return all_records()


def drawn(seed: int) -> Drawn:
    chance = random.Random(seed)
    # FAILFAST ends at the first damage, so more records would not be compared.
    mode, count = chance.choice([("FAILFAST", 1), *[("DROPMALFORMED", 64), ("PERMISSIVE", 64)] * 3])
    log = changed_log(chance, records(), count)
    options: dict[str, Any] = {"mode": mode, "columns": chance.choice([None, "*", _OF_KERNEL, _WITHOUT_REASON, _WITHOUT_REASON])}
    if chance.random() < 0.2:
        options["columns"] = chance.sample(list(COLUMNS), chance.randrange(1, 9))
    if chance.random() < 0.1:
        options["max_partition_bytes"] = chance.randrange(300, 20_000)
    if chance.random() < 0.15:
        options["where"] = chance.choice(_CONDITIONS)
    if chance.random() < 0.1:
        options["max_decompressed_bytes"] = chance.randrange(2000)
    if chance.random() < 0.05:
        options["max_record_bytes"] = chance.randrange(100, 1500)
    options["verify_crc"] = chance.random() < 0.15
    options["body_views"] = chance.random() < 0.2
    return Drawn(log, count, options, chance.choice([1, 100, 1000, 1 << 24, 1 << 24, 1 << 24]))


def check_kernels(seed: int) -> Checked:
    """Compare both kernels on one log of changed records; raises on a difference. Each record is an input."""
    log, count, options, at_once = drawn(seed)
    with tuned(decompressed_at_once=at_once):
        report = read_by_both(InMemory(log.segments, log.framing), **options).report
    mark_by_both(log.segments)
    return Checked(count, 0 if report is None else min(count, sum(each.records for each in report.segments)))


def check_fields(seed: int) -> Checked:
    """Compare both kernels on many property fields; raises on a difference. Each is an input."""
    inputs = compare_fields(seed)
    return Checked(inputs, inputs)


def work(check: Callable[[int], Checked], seeds: range, current: Path, until: float, wanted: int) -> tuple[Checked, dict[int, str]]:
    """Check logs until this many inputs were compared; returns the sums, and the seed and the error that ended it.

    `current` has the seed that is checked, in case the process dies.
    """
    logging.getLogger("native_reader").setLevel(logging.ERROR)
    inputs = alive = 0
    for seed in seeds:
        if inputs >= wanted or time.monotonic() > until:
            break
        current.write_text(str(seed))
        try:
            checked = check(seed)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # every exception is a finding; a panic of the kernel is not an Exception
            return Checked(inputs, alive), {seed: f"{type(error).__name__}: {error}"[:2000]}
        inputs += checked.inputs
        alive += checked.alive
    return Checked(inputs, alive), {}


def results_of(arguments: argparse.Namespace) -> tuple[Checked, dict[int, str]]:
    """The sums of all processes, and what each finding says, by its seed."""
    jobs, first, until = min(arguments.jobs, arguments.inputs), arguments.seed, time.monotonic() + arguments.seconds
    check_one = check_fields if arguments.fields else check_kernels if arguments.kernels else check
    wanted = -(-arguments.inputs // jobs)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(jobs) as workers:
        currents = [Path(folder, str(job)) for job in range(jobs)]
        shards = [range(first + job, sys.maxsize, jobs) for job in range(jobs)]
        futures = [workers.submit(work, check_one, *shard, until, wanted) for shard in zip(shards, currents, strict=True)]
        try:
            results = [future.result() for future in futures]
        except BrokenProcessPool:
            reached = [int(current.read_text()) for current in currents if current.exists()]
            return Checked(0, 0), dict.fromkeys(reached, "a process died; the others were ended")
    sums = Checked(*map(sum, zip(*(checked for checked, _ in results), strict=True)))
    return sums, {seed: error for _, found in results for seed, error in found.items()}


def _log_of(seed: int, arguments: argparse.Namespace) -> Log:
    if arguments.fields:
        return Log([(0, fields(random.Random(seed)).content.tobytes())], "plain")
    return drawn(seed).log if arguments.kernels else mutated(seed)


def saved(log: Log, folder: Path) -> Path:
    """The log as a store on disk."""
    segments = folder / ("commitlog" if log.framing == "plain" else "dledger-n0/data")
    segments.mkdir(parents=True, exist_ok=True)
    for base, content in log.segments:
        (segments / f"{base:020}").write_bytes(content)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", action="store_true", help="compare both kernels")
    parser.add_argument("--fields", action="store_true", help="compare both kernels in the columns that are made from properties")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--inputs", type=int, default=1 << 40, help="how many at least; with --kernels, a log has up to 64")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 40))
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    if (arguments.kernels or arguments.fields) and kernel.chosen("")[0] is None:
        sys.stdout.write("Kernels are not compared, because the compiled one is not installed\n")
        return 0
    begun = time.monotonic()
    (inputs, alive), findings = results_of(arguments)
    took, share = time.monotonic() - begun, alive / max(inputs, 1)
    sys.stdout.write(f"{inputs:,} inputs from seed {arguments.seed} in {took:,.0f} s, {share:.0%} of them with a valid record left\n")
    for seed, error in findings.items():
        log = _log_of(seed, arguments)
        sys.stdout.write(f"seed {seed}, {saved(log, FINDINGS / str(seed))}: {error}\n")
    return 1 if findings or (inputs > 100 and share < 0.5) else 0


if __name__ == "__main__":
    sys.exit(main())
