"""Measures a repair against `cp` and `sync` of the same store: time, time of the processor, and memory.

The log has a hole of 40 KiB, so that entries, index and checkpoint are made again. The page cache has the store. `--memory 4GiB` also
measures the memory for a store of that size with small messages, which it writes. `--sparse` plans a repair of 1 TiB, in sparse
segments. Part of `make bench`.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import large
from measure import GIB, KERNELS, MIB, duration, figure, parser_of, print_head, print_row, size_of, store_at, with_kernel

import native_reader as nr
from native_reader.testing.spec import StoreSpec

SEGMENTS = 4
HOLE = 40 << 10
BODIES = {"1 KiB": 1024, "100 B": 100}
PEAK = """
import logging, re, sys
import native_reader as nr

logging.disable()


def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024


store = nr.open(sys.argv[1])
idle = peak()
store.repair(sys.argv[2], jobs=int(sys.argv[3]))
print(peak() - idle)
"""


class Spent(NamedTuple):
    wall: float
    processor: float


def made(folder: Path, name: str, size: int) -> Path:
    """The damaged store, written if it does not exist."""
    segment = min(max(size // SEGMENTS, MIB), GIB)
    spec = StoreSpec(bytes=size, body=BODIES[name], mapped_file_size_commit_log=segment, rare=0)
    path = folder / f"repaired-{name.replace(' ', '-')}-{size // MIB}MiB"
    fresh = not path.exists()
    store_at(path, spec)
    if fresh:
        with sorted((path / "commitlog").iterdir())[1].open("r+b") as file:
            file.seek(segment // 3)
            file.write(Random(1).randbytes(HOLE))
    return path


def spent(work: Callable[[Path], object], target: Path) -> Spent:
    shutil.rmtree(target, ignore_errors=True)
    os.sync()
    begun, before = time.perf_counter(), os.times()
    work(target)
    after = os.times()
    return Spent(time.perf_counter() - begun, sum(after[:4]) - sum(before[:4]))


def copy(path: Path) -> Callable[[Path], object]:
    def run(target: Path) -> None:
        subprocess.run(["cp", "-r", path, target], check=True)
        subprocess.run(["sync", "-f", target], check=True)

    return run


def repair(path: Path, kernel: str, jobs: int, *, dry_run: bool = False) -> Callable[[Path], object]:
    return lambda target: with_kernel(kernel, lambda: nr.open(path).repair(target, jobs=jobs, dry_run=dry_run))()


def print_speed(path: Path, name: str, rounds: int) -> None:
    target = path.with_name("repaired")
    works = {("", "copy"): copy(path)}
    for kernel in KERNELS:
        works |= {(kernel, f"jobs={jobs}"): repair(path, kernel, jobs) for jobs in (1, 2)}
        works[kernel, "the plan alone"] = repair(path, kernel, 1, dry_run=True)
    times = {key: list[Spent]() for key in works}
    for number in range(rounds + 1):
        for key, work in works.items():
            found = spent(work, target)
            times[key] += [found] if number else []
    shutil.rmtree(target, ignore_errors=True)
    best = {key: Spent(*(min(column) for column in zip(*found, strict=True))) for key, found in times.items()}
    copied = best["", "copy"]
    for what, wanted in (("jobs=1", "≥ 0.7"), ("jobs=2", "≥ 0.7"), ("the plan alone", "")):
        ours = [best[kernel, what] for kernel in KERNELS]
        cells = [f"{figure(copied.wall / each.wall)}: {duration(copied.wall)} ÷ {duration(each.wall)}" for each in ours]
        print_row(f"{name}, {what}: `cp` and `sync` ÷ `repair`", cells, wanted)
        cells = [f"{figure(copied.processor / each.processor)}: {duration(copied.processor)} ÷ {duration(each.processor)}" for each in ours]
        print_row(f"{name}, {what}: the same, time of the processor", cells)


def print_memory(path: Path, name: str, size: int) -> None:
    """What a repair adds to a process that has only opened the store."""
    target = path.with_name("repaired")

    def peak(jobs: int) -> str:
        shutil.rmtree(target, ignore_errors=True)
        command = [sys.executable, "-c", PEAK, path, target, str(jobs)]
        return f"{int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1e6:,.0f} MB"

    cells = [" and ".join(str(with_kernel(kernel, lambda jobs=jobs: peak(jobs))()) for jobs in (1, 2)) for kernel in KERNELS]
    print_row(f"{name}, {size / GIB:g} GiB: memory of `repair` with `jobs=1` and `jobs=2`", cells)
    shutil.rmtree(target, ignore_errors=True)


def print_sparse(folder: Path) -> None:
    """The plan of 1 TiB: each segment has a few records and its blank, and ten segments in the middle are gone."""
    path = large.made(folder / "sparse-1TiB", 1024, GIB)
    for segment in sorted((path / "commitlog").iterdir())[10:20]:
        os.truncate(segment, 0)
        os.truncate(segment, GIB)
    cells = [duration(spent(repair(path, kernel, 1, dry_run=True), folder / "repaired").wall) for kernel in KERNELS]
    print_row("1 TiB in 1,024 sparse segments: the plan alone", cells)


def main() -> None:
    parser = parser_of(__doc__, 1 << 30, 5)
    parser.add_argument("--memory", type=size_of, default=None)
    parser.add_argument("--sparse", action="store_true")
    arguments = parser.parse_args()
    logging.disable()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print_head()
    for name in BODIES:
        path = made(arguments.folder, name, arguments.bytes)
        print_speed(path, name, arguments.rounds)
        print_memory(path, name, arguments.bytes)
    if arguments.memory is not None:
        print_memory(made(arguments.folder, "100 B", arguments.memory), "100 B", arguments.memory)
    if arguments.sparse:
        print_sparse(arguments.folder)


if __name__ == "__main__":
    main()
