"""Measures the engine on one core against Parquet: `make bench`, or `python benchmarks/run.py --bytes 64MiB` for a quick check.

The goal: reading the raw log takes no longer than reading the same data from Parquet. The stores are written by the project's own
writer and kept in the folder. Rounds are interleaved, so that changes in the machine's speed affect both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

MIB = 1 << 20
SIX = ["topic", "queue_id", "queue_offset", "store_timestamp", "physical_offset", "record_size"]
STORES = {
    "1 KiB mixed": StoreSpec(body=1024, queues=False, index=False),
    "1 KiB equal": StoreSpec(body=1024, shapes="equal", sizes="fixed", compressed=0, queues=False, index=False),
    "100 B mixed": StoreSpec(body=100, queues=False, index=False),
    "100 B equal": StoreSpec(body=100, shapes="equal", sizes="fixed", compressed=0, queues=False, index=False),
    "1 KiB, a fifth zlib": StoreSpec(body=1024, compressed=0.2, codecs=("zlib",), queues=False, index=False),
}
TARGETS = {"1 KiB mixed": (0.9, 2), "1 KiB equal": (1.0, 2), "100 B mixed": (0.65, 3), "100 B equal": (0.85, 3)}


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def interleaved(rounds: int, *works: Callable[[], object]) -> list[list[float]]:
    """The seconds of each function, round by round, after one warm-up round."""
    for work in works:
        work()
    return [[seconds(work) for work in works] for _ in range(rounds)]


def ratio(times: list[list[float]], over: int, under: int) -> str:
    """The ratio of the best times, and in brackets the median of the ratios of all rounds."""
    best = min(each[over] for each in times) / min(each[under] for each in times)
    return f"{best:.2f} ({statistics.median(each[over] / each[under] for each in times):.2f})"


def made(folder: Path, name: str, size: int) -> str:
    """The path of the store, written if it does not exist."""
    path = folder / f"{name.replace(' ', '-').replace(',', '')}-{size // MIB}MiB"
    if not (path / "checkpoint").exists():
        spec = STORES[name]
        write_store(path, StoreSpec(**{field: getattr(spec, field) for field in spec.__dataclass_fields__} | {"bytes": size}))
    return str(path)


def consume(path: str, columns: list[str] | None = None) -> int:
    return sum(batch.num_rows for batch in nr.open(path).messages(columns=columns).to_batches())


def floor(path: str) -> None:
    """Read the raw bytes into one buffer and copy them once."""
    buffer = bytearray(4 * MIB)
    view, copy = memoryview(buffer), bytearray(4 * MIB)
    for segment in sorted(Path(path, "commitlog").iterdir()):
        with segment.open("rb", buffering=0) as file:
            while got := file.readinto(view):
                copy[:got] = view[:got]


def against_parquet(folder: Path, name: str, size: int, rounds: int) -> None:
    path = made(folder, name, size)
    converted = Path(f"{path}.parquet")
    if not converted.exists():
        pq.write_table(nr.open(path).messages().to_table(), converted, compression="none")
    rows = consume(path)
    times = interleaved(
        rounds,
        lambda: consume(path),
        lambda: sum(batch.num_rows for batch in pq.ParquetFile(converted).iter_batches(use_threads=False)),
        lambda: consume(path, SIX),
        lambda: floor(path),
    )
    best = [min(each) for each in zip(*times, strict=True)]
    parquet, six = TARGETS[name]
    print(
        f"| {name} | {rows:,} | {best[0]:.2f} s | {best[1]:.2f} s | {ratio(times, 1, 0)}, wanted {parquet} "
        f"| {ratio(times, 0, 2)}, wanted {six} | {best[3]:.2f} s |"
    )


def against_inflate(folder: Path, size: int, rounds: int) -> None:
    name = "1 KiB, a fifth zlib"
    path = made(folder, name, size)
    table = nr.open(path).messages(columns=["stored_body", "sys_flag"]).to_table()
    bodies = [body.as_py() for body, flags in zip(table["stored_body"], table["sys_flag"], strict=True) if flags.as_py() & 0x701 == 1]
    bodies += [body.as_py() for body, flags in zip(table["stored_body"], table["sys_flag"], strict=True) if flags.as_py() & 0x701 == 0x301]
    readable = [body for body in bodies if body[:1] == b"\x78"]
    times = interleaved(rounds, lambda: [zlib.decompress(body) for body in readable], lambda: consume(path))
    best = min(each[0] for each in times)
    print(f"\n{name}: {len(readable):,} bodies inflate in {best:.2f} s; ÷ the scan: {ratio(times, 0, 1)}, wanted 0.6")


def size_of(text: str) -> int:
    units = {"KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
    return int(text[:-3]) * units[text[-3:]] if text[-3:] in units else int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--bytes", type=size_of, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("| store | records | default columns | Parquet | Parquet ÷ ours | default ÷ six columns | floor |\n|---|---|---|---|---|---|---|")
    for name in TARGETS:
        against_parquet(arguments.folder, name, arguments.bytes, arguments.rounds)
    against_inflate(arguments.folder, arguments.bytes, arguments.rounds)


if __name__ == "__main__":
    main()
