"""Compares the engine with RocketMQ's decoder, on files written by RocketMQ's store class. Part of `make bench`.

Both read with one thread, one after the other. Java's compiler and garbage collector may use the other cores. Needs a JDK 17 and Maven.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "brokers"))

from measure import by_kernel, parser_of, print_head, print_ratio, use_cores
from rocketmq import Java, ended, missing
from run import consume

WANTED = {"1 KiB": "≥ 1.2", "100 B": "≥ 2.4", "mixed": "≥ 1.0"}
_WARM_UP = 5
SIZES = {"1 KiB": (1024, 1024, 1 << 30), "100 B": (100, 100, 1 << 30), "mixed": (100, 64 << 10, 4 << 10)}
HEADS = [
    "topic",
    "queue_id",
    "queue_offset",
    "store_timestamp",
    "born_timestamp",
    "physical_offset",
    "record_size",
    "kind",
    "born_host",
    "store_host",
]


def written(java: Java, folder: Path, name: str, size: int) -> Path:
    """A store of about `size` bytes, written if it does not exist."""
    smallest, largest, zipped = SIZES[name]
    home = folder / f"java-{name.replace(' ', '-')}-{size >> 20}MiB"
    if not (home / "quiet").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "conf").write_text(f"mappedFileSizeCommitLog={size + (64 << 20)}\nmaxMessageSize=4194304\n")
        count = size // {"1 KiB": 1450, "100 B": 520, "mixed": 3000}[name]
        arguments = (home / "store", home / "conf", 1, 1_000_000, count, smallest, largest, zipped)
        writer = java.start("Write", *arguments, home=home, log="writer.out", memory="2g")
        while not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-2000:]
            time.sleep(0.1)
        ended(writer)
    return home / "store"


class Decoder:
    """RocketMQ's decoder in a process of its own. A call decodes all records once, and returns how many there are."""

    def __init__(self, java: Java, store: Path) -> None:
        home = store.parent / "bench"
        home.mkdir(exist_ok=True)
        command = java.command("Bench", store / "commitlog", home=home, memory="2g", options=())  # with both of its compilers
        self._process = subprocess.Popen(command, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(json.loads(next(line for line in self._process.stdout if line.startswith("{")))["records"])

    def end(self) -> None:
        self._process.communicate()


def compare(java: Java, store: Path, name: str, rounds: int) -> None:
    path, decoder = str(store), Decoder(java, store)
    for _ in range(_WARM_UP):
        records = decoder()
    assert consume(path) == records
    times = by_kernel(rounds, {"default": lambda: consume(path), "heads": lambda: consume(path, HEADS)}, {"Java": decoder})
    decoder.end()
    print_ratio(f"RocketMQ's files, {name}, {records:,} records: its decoder ÷ default columns", times, "Java", "default", WANTED[name])
    print_ratio(f"the same: its decoder ÷ {len(HEADS)} columns without properties and bodies", times, "Java", "heads", "≥ 3")


def main() -> None:
    arguments = parser_of(__doc__, 512 << 20, 7).parse_args()
    reason = missing()
    if reason is not None:
        print(f"not compared with Java: {reason}")
        return
    use_cores(2)
    java = Java("5.5.0")
    print_head()
    for name in WANTED:
        compare(java, written(java, arguments.folder, name, arguments.bytes), name, arguments.rounds)


if __name__ == "__main__":
    main()
