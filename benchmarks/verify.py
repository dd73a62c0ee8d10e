"""Measures the check of a store against a scan of it, and against `zlib.crc32` of its bodies one by one, and its memory.

The stores have queues and an index. `--memory 10GiB` also measures the memory for a store of that size, which it writes.
Part of `make bench`.
"""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

from measure import GIB, KERNELS, MIB, by_kernel, parser_of, print_head, print_ratio, print_row, size_of, store_at, use_cores, with_kernel

import native_reader as nr
from native_reader.testing.spec import StoreSpec

BODIES = {"1 KiB mixed": 1024, "100 B mixed": 100}
WANTED = {"1 KiB mixed": "≥ 1.0", "100 B mixed": "≥ 0.8"}
SEGMENTS = 4
"""So that two jobs have the same work."""
PEAK = """
import re, sys
import native_reader as nr


def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024


store = nr.open(sys.argv[1])
idle = peak()
store.verify().to_table(jobs=int(sys.argv[2]))
print(peak() - idle)
"""


def made(folder: Path, name: str, size: int) -> str:
    """The path of the store, written if it does not exist."""
    segment = min(max(size // SEGMENTS, MIB), GIB)
    spec = StoreSpec(bytes=size, body=BODIES[name], mapped_file_size_commit_log=segment)
    return store_at(folder / f"verified-{name.replace(' ', '-')}-{size // MIB}MiB", spec)


def verify(path: str, jobs: int = 1) -> None:
    found = nr.open(path).verify().to_table(jobs=jobs).to_pylist()
    errors = [each["message"] for each in found if each["severity"] == "error"]
    assert not errors, errors


def print_speed(path: str, name: str, rounds: int) -> None:
    bodies = nr.open(path).messages(columns=["stored_body"]).to_table()["stored_body"].to_pylist()
    works = {"verify": lambda: verify(path), "scan": lambda: sum(map(len, nr.open(path).messages().to_batches()))}
    times = by_kernel(rounds, works, {"crc32": lambda: [zlib.crc32(body) for body in bodies]})
    what = f"{name}, {len(bodies):,} messages: `zlib.crc32` of each body ÷ `verify`"
    print_ratio(what, times, "crc32", "verify", "≥ 0.5 with numpy, ≥ 1.5 compiled")
    print_ratio(f"{name}: a scan of the default columns ÷ `verify`", times, "scan", "verify", WANTED[name])


def print_scaling(path: str, name: str, rounds: int) -> None:
    if not use_cores(2):
        print("`jobs=2` is not measured: it needs two cores")
        return
    times = by_kernel(rounds, {"one": lambda: verify(path), "two": lambda: verify(path, jobs=2)})
    print_ratio(f"{name}: `verify` with `jobs=1` ÷ `jobs=2` on two cores", times, "one", "two")
    use_cores(1)


def print_memory(path: str, name: str, size: int) -> None:
    """What a check adds to a process that has only opened the store."""
    if not Path("/proc/self/status").exists():
        print("memory is not measured: that needs /proc")
        return

    def peak(jobs: int) -> str:
        printed = subprocess.run([sys.executable, "-c", PEAK, path, str(jobs)], check=True, capture_output=True, text=True).stdout
        return f"{int(printed) / 1e6:,.0f} MB"

    cells = [" and ".join(str(with_kernel(kernel, lambda jobs=jobs: peak(jobs))()) for jobs in (1, 2)) for kernel in KERNELS]
    print_row(f"{name}, {size / GIB:g} GiB: memory of `verify` with `jobs=1` and `jobs=2`", cells)


def main() -> None:
    parser = parser_of(__doc__, 1 << 30, 5)
    parser.add_argument("--memory", type=size_of, default=None)
    arguments = parser.parse_args()
    use_cores(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print_head()
    for name in BODIES:
        path = made(arguments.folder, name, arguments.bytes)
        print_speed(path, name, arguments.rounds)
        print_scaling(path, name, arguments.rounds)
        print_memory(path, name, arguments.bytes)
    if arguments.memory is not None:
        print_memory(made(arguments.folder, "100 B mixed", arguments.memory), "100 B mixed", arguments.memory)


if __name__ == "__main__":
    main()
