"""What the benchmarks share: rounds, kernels, and tables with a column for each kernel.

A ratio of two works in one run means something on another machine too. Rounds are interleaved, so that changes in the machine's
speed affect all works. A figure is best ÷ best; the one in brackets is the median of the ratios of each round.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa

from native_reader.kernel import COMPILED, NUMPY, chosen
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

MIB, GIB = 1 << 20, 1 << 30
KERNELS = (NUMPY,) if chosen("")[0] is None else (NUMPY, COMPILED)
VARIABLE = "RMQSTORE_KERNEL"
_CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()

Work = Callable[[], object]
Times = Mapping[str, Sequence[float]]
"""The seconds of each work in each round, by its name."""


def parser_of(doc: str | None, size: int, rounds: int) -> argparse.ArgumentParser:
    """The arguments of a benchmark, with its defaults."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=lambda text: Path(text).absolute(), default=Path("build/bench").absolute())
    parser.add_argument("--bytes", type=size_of, default=size)
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def size_of(text: str) -> int:
    units = {"KiB": 1 << 10, "MiB": MIB, "GiB": GIB}
    return int(text[:-3]) * units[text[-3:]] if text[-3:] in units else int(text)


def store_at(path: Path, spec: StoreSpec) -> str:
    """The path of the store, written if it does not exist."""
    if not (path / "checkpoint").exists():
        shutil.rmtree(path, ignore_errors=True)
        write_store(path, spec)
    return str(path)


def use_cores(count: int) -> bool:
    """Run on that many cores from now on. False if there are fewer, or the system cannot do it."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if len(_CORES) < count:
        return False
    os.sched_setaffinity(0, sorted(_CORES)[-count:])
    return True


def forget(*files: Path) -> None:
    """Drop the pages of these files from memory."""
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened)  # pages that were not written to the disk yet would stay
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def seconds(work: Work, clock: Callable[[], float] = time.perf_counter) -> float:
    begun = clock()
    work()
    return clock() - begun


def interleaved(rounds: int, *works: Work, clock: Callable[[], float] = time.perf_counter) -> list[list[float]]:
    """The seconds of each work, round by round, after one warm-up round. `clock`: `time.process_time` for those of the processor."""
    for work in works:
        work()
    return [[seconds(work, clock) for work in works] for _ in range(rounds)]


def with_kernel(kernel: str, work: Work) -> Work:
    """The same work with that kernel. The variable is read at each use."""

    def run() -> object:
        os.environ[VARIABLE] = kernel
        return work()

    return run


def by_kernel(rounds: int, ours: Mapping[str, Work], others: Mapping[str, Work] | None = None) -> dict[str, Times]:
    """The times with each kernel, interleaved. `others` do not depend on it, and are measured once."""
    others = others or {}
    works = [((kernel, name), with_kernel(kernel, work)) for kernel in KERNELS for name, work in ours.items()]
    columns = zip(*interleaved(rounds, *others.values(), *(work for _, work in works)), strict=True)
    times = dict(zip([*others, *(key for key, _ in works)], columns, strict=True))
    return {kernel: {name: times[name] for name in others} | {name: times[kernel, name] for name in ours} for kernel in KERNELS}


def print_setting() -> None:
    """When, how and where: the figures of other machines differ."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    machine = f"{_processor()}, {len(_CORES) or os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}"
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, pyarrow {pa.__version__}, kernel: {chosen('')[1]}"
    print(f"\nMeasured on {date.today()} with `python benchmarks/{command}`: {machine}; {versions}.\n")


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.*)", known.read_text()) if known.exists() else None
    return named[1] if named else platform.processor()


def print_head() -> None:
    print_setting()
    print(f"| best ÷ best (median of the rounds) | {' | '.join(KERNELS)} | wanted |\n|---|{'---|' * len(KERNELS)}---|")


def print_row(what: str, cells: Sequence[str], wanted: str = "") -> None:
    print(f"| {what} | {' | '.join(cells)} | {wanted} |", flush=True)


def print_ratio(what: str, times: Mapping[str, Times], over: str, under: str, wanted: str = "") -> None:
    """A row of a ratio. `over` may be a sum: "a + b"."""
    cells = []
    for of in times.values():
        above = [sum(each) for each in zip(*(of[name] for name in over.split(" + ")), strict=True)]
        median = statistics.median(one / other for one, other in zip(above, of[under], strict=True))
        one, other = min(above), min(of[under])
        cells.append(f"{figure(one / other)} ({figure(median)}): {duration(one)} ÷ {duration(other)}")
    print_row(what, cells, wanted)


def figure(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def duration(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.0f} ms" if value >= 0.1 else f"{value * 1e3:.1f} ms"
