"""Where the time of a scan goes: milliseconds of each stage for 1 GiB, default columns, one core, with each kernel.

The stages do not overlap. Everything that is in none of them is Python: the walk, the run, and what happens once a chunk.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from measure import GIB, KERNELS, Work, parser_of, print_setting, use_cores, with_kernel
from run import consume, made

from native_reader.columns.batches import BatchBuilder
from native_reader.records.walk import ReadWalk
from native_reader.scan import read
from native_reader.storage.window import Window

STAGES = (
    ("read", Window, "load"),
    ("records: boundaries and proofs", ReadWalk, "_proven"),
    ("inner batches replaced by their messages", read, "unwrapped"),
    ("columns, with decompression", BatchBuilder, "of"),
)
REST = "Python"
spent: Counter[str] = Counter()
calls: Counter[str] = Counter()


def timed(stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; its time is counted, or that of each step if it returns an iterator."""

    def steps(values: Iterator[Any]) -> Iterator[Any]:
        while (value := counted(lambda: next(values, values))) is not values:
            yield value

    def counted(step: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        try:
            return step()
        finally:
            spent[stage] += time.perf_counter() - begun

    @wraps(work)
    def run(*arguments: Any) -> Any:
        calls[stage] += 1
        result = counted(lambda: work(*arguments))
        return steps(result) if isinstance(result, Iterator) else result

    return run


def profile(work: Work) -> dict[str, float]:
    """Seconds by stage, and the number of chunks."""
    spent.clear()
    calls.clear()
    begun = time.perf_counter()
    work()
    total = time.perf_counter() - begun
    return dict(spent) | {REST: total - spent.total(), "everything": total, "chunks": calls["read"]}


def main() -> None:
    arguments = parser_of(__doc__, GIB, 5).parse_args()
    use_cores(1)
    print_setting()
    for stage, owner, name in STAGES:
        setattr(owner, name, timed(stage, getattr(owner, name)))
    for store in ("1 KiB mixed", "1 KiB equal", "100 B mixed"):
        path = made(arguments.folder, store, arguments.bytes)
        works = [with_kernel(kernel, lambda path=path: consume(path)) for kernel in KERNELS]
        rounds = [[profile(work) for work in works] for _ in range(arguments.rounds + 1)][1:]
        best = [min(of, key=lambda each: each["everything"]) for of in zip(*rounds, strict=True)]
        scale = 1e3 * GIB / arguments.bytes
        print(f"\n| {store} | {' | '.join(KERNELS)} |\n|---|{'---|' * len(KERNELS)}")
        for stage in (*(stage for stage, *_ in STAGES), REST, "everything"):
            print_line(stage, [f"{of.get(stage, 0) * scale:.0f} ms" for of in best])
        print_line(f"{REST}, a chunk", [f"{of[REST] / of['chunks'] * 1e6:.0f} µs" for of in best])


def print_line(stage: str, cells: list[str]) -> None:
    print(f"| {stage} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
