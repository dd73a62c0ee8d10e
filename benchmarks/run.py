"""Measures the engine on one core with both kernels: against Parquet, against its floor, and by what is asked for.

The goal: reading the raw log takes no longer than reading the same data from Parquet. The stores are written by the project's own
writer and kept in the folder. `--bytes 64MiB` for a quick check.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from measure import (
    KERNELS,
    MIB,
    by_kernel,
    forget,
    parser_of,
    print_head,
    print_ratio,
    print_row,
    seconds,
    store_at,
    use_cores,
    with_kernel,
)

import native_reader as nr
from native_reader.testing.spec import StoreSpec

SIX = ["topic", "queue_id", "queue_offset", "store_timestamp", "physical_offset", "record_size"]
STORES = {
    "1 KiB mixed": StoreSpec(body=1024, index=False),
    "1 KiB equal": StoreSpec(body=1024, shapes="equal", sizes="fixed", compressed=0, index=False),
    "100 B mixed": StoreSpec(body=100, index=False),
    "100 B equal": StoreSpec(body=100, shapes="equal", sizes="fixed", compressed=0, index=False),
    "1 KiB, a fifth zlib": StoreSpec(body=1024, compressed=0.2, codecs=("zlib",), index=False),
}
ZIPPED = "1 KiB, a fifth zlib"
FRESH = """
import sys, time
begun = time.perf_counter()
import native_reader as nr
next(nr.open(sys.argv[1]).messages().to_batches())
print(time.perf_counter() - begun)
print(open("/proc/self/status").read())
"""


def made(folder: Path, name: str, size: int) -> str:
    """The path of the store, written if it does not exist."""
    return store_at(folder / f"{name.replace(' ', '-').replace(',', '')}-{size // MIB}-MiB", replace(STORES[name], bytes=size))


def consume(path: str, columns: list[str] | None = None, jobs: int = 1) -> int:
    return sum(batch.num_rows for batch in nr.open(path).messages(columns=columns).to_batches(jobs))


def floor(path: str, begin: int, end: int) -> None:
    """Read those bytes of the log into one buffer, and copy them once."""
    view, copy = memoryview(bytearray(4 * MIB)), bytearray(4 * MIB)
    for segment in sorted(Path(path, "commitlog").iterdir()):
        with segment.open("rb", buffering=0) as file:
            file.seek(max(0, begin - int(segment.name)))
            while got := file.readinto(view[: end - begin]):
                copy[:got] = view[:got]
                begin += got


def floor_in_processes(path: str, size: int) -> None:
    """Both halves at once, in two processes: how much faster this machine's second core makes reading and copying."""
    other = multiprocessing.get_context("fork").Process(target=floor, args=(path, size // 2, size))
    other.start()
    floor(path, 0, size // 2)
    other.join()


def parquet_of(path: str) -> dict[str, Path]:
    """Uncompressed Parquet of the same rows: with pyarrow's row groups of a million rows, and with ordinary ones of 128 MiB."""
    files = {"Parquet": Path(f"{path}.parquet"), "ordinary": Path(f"{path}.128-MiB.parquet")}
    if not all(file.exists() for file in files.values()):
        table = nr.open(path).messages().to_table()
        pq.write_table(table, files["Parquet"], compression="none")
        pq.write_table(table, files["ordinary"], compression="none", row_group_size=max(1, len(table) * 128 * MIB // table.nbytes))
    return files


def read_parquet(file: Path) -> int:
    return sum(batch.num_rows for batch in pq.ParquetFile(file).iter_batches(use_threads=False))


def against_parquet(folder: Path, name: str, size: int, rounds: int) -> None:
    path = made(folder, name, size)
    files = parquet_of(path)
    times = by_kernel(
        rounds,
        {"default": lambda: consume(path), "six": lambda: consume(path, SIX)},
        {
            "Parquet": lambda: read_parquet(files["Parquet"]),
            "ordinary": lambda: read_parquet(files["ordinary"]),
            "floor": lambda: floor(path, 0, size),
        },
    )
    is_large = STORES[name].body == 1024
    what = f"{name}, {consume(path):,} records: Parquet ÷ default columns"
    print_ratio(what, times, "Parquet", "default", "≥ 1.3" if is_large else "≥ 1.5")
    what = f"{name}: Parquet with row groups of 128 MiB ÷ default columns"
    print_ratio(what, times, "ordinary", "default", "≥ 1.6" if is_large else "≥ 2")
    print_ratio(f"{name}: default ÷ six head columns", times, "default", "six", "≥ 2.2" if is_large else "≥ 2.5")
    wanted = "≤ 1.5" if name == "1 KiB equal" else ""
    print_ratio(f"{name}: default ÷ floor, which is to read and to copy once", times, "default", "floor", wanted)


def against_inflate(folder: Path, size: int, rounds: int) -> None:
    path = made(folder, ZIPPED, size)
    table = nr.open(path).messages(columns=["stored_body", "sys_flag"]).to_table()
    stored = zip(table["stored_body"].to_pylist(), table["sys_flag"].to_pylist(), strict=True)
    bodies = [body for body, flags in stored if flags & 0x701 in (0x1, 0x301) and body[:1] == b"\x78"]
    times = by_kernel(rounds, {"scan": lambda: consume(path)}, {"inflate": lambda: [zlib.decompress(body) for body in bodies]})
    print_ratio(f"{ZIPPED}: bare `zlib.decompress` of {len(bodies):,} bodies ÷ the scan", times, "inflate", "scan", "≥ 0.8")


def on_two_cores(folder: Path, size: int, rounds: int) -> None:
    if not use_cores(2):
        print("`jobs=2` is not measured: it needs two cores")
        return
    for name in ("1 KiB mixed", "100 B mixed"):
        path = made(folder, name, size)
        times = by_kernel(
            rounds,
            {"one": lambda path=path: consume(path), "two": lambda path=path: consume(path, jobs=2)},
            {"floor": lambda path=path: floor(path, 0, size), "halves": lambda path=path: floor_in_processes(path, size)},
        )
        print_ratio(f"{name}: `jobs=1` ÷ `jobs=2` on two cores", times, "one", "two", "≥ 0.95 of the next row")
        print_ratio(f"{name}: the floor in one process ÷ in two", times, "floor", "halves", "")
    use_cores(1)


def from_the_disk(folder: Path, size: int, rounds: int) -> None:
    """The log is not in memory before each read. A virtual disk may still have it in a cache of its own."""
    if not hasattr(os, "posix_fadvise"):
        print("a cold log is not measured: no page can be dropped here")
        return
    for name in ("1 KiB mixed", "100 B mixed"):
        path = made(folder, name, size)
        segments = sorted(Path(path, "commitlog").iterdir())
        ours = {kernel: with_kernel(kernel, lambda path=path: consume(path)) for kernel in KERNELS}
        works = {"cat": lambda segments=segments: subprocess.run(["cat", *segments], check=True, stdout=subprocess.DEVNULL)} | ours
        times: dict[str, list[float]] = {which: [] for which in works}
        for _ in range(rounds):
            for which, work in works.items():
                forget(*segments)
                times[which].append(seconds(work))
        compared = {kernel: {"cat": times["cat"], "scan": times[kernel]} for kernel in KERNELS}
        print_ratio(f"{name}, not in memory: `cat` of the log ÷ default columns", compared, "cat", "scan", "≥ 0.9")


def in_a_fresh_process(folder: Path, size: int, rounds: int) -> None:
    """Import and first batch: the compiled kernel must not make a small read slower."""
    if not Path("/proc/self/status").exists():
        print("a fresh process is not measured: that needs /proc")
        return
    path = made(folder, "1 KiB mixed", size)

    def fresh() -> tuple[float, float]:
        """Seconds, and peak memory in MB."""
        printed = subprocess.run([sys.executable, "-c", FRESH, path], check=True, capture_output=True, text=True).stdout
        (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", printed)
        return float(printed.split()[0]), int(peak) * 1024 / 1e6

    measured = [[with_kernel(kernel, fresh)() for kernel in KERNELS] for _ in range(3 * rounds)]
    best = [[min(values) for values in zip(*of, strict=True)] for of in zip(*measured, strict=True)]
    cells = [f"{time * 1e3:.0f} ms, {peak:.0f} MB" for time, peak in best]
    if len(KERNELS) == 2:
        medians = [statistics.median(each[1][which] - each[0][which] for each in measured) for which in (0, 1)]
        (time, peak), (other_time, other_peak) = best
        cells[1] += f": {(other_time - time) * 1e3:+.0f} ms ({medians[0] * 1e3:+.0f}), {other_peak - peak:+.1f} MB ({medians[1]:+.1f})"
    print_row("import and first batch of a fresh process, peak memory", cells, "≤ +20 ms, ≤ +15 MB")


def main() -> None:
    arguments = parser_of(__doc__, 1 << 30, 5).parse_args()
    use_cores(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    sizes = arguments.folder, arguments.bytes, arguments.rounds
    print_head()
    for name in STORES:
        if name != ZIPPED:
            against_parquet(sizes[0], name, *sizes[1:])
    against_inflate(*sizes)
    on_two_cores(*sizes)
    from_the_disk(*sizes)
    in_a_fresh_process(*sizes)


if __name__ == "__main__":
    main()
