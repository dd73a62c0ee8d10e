"""Compares the engine with RocketMQ's decoder, on files written by RocketMQ's store class. Part of `make bench`.

Both read with one thread, one after the other. Java's compiler and garbage collector may use the other cores. Needs a JDK 17 and Maven.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "broker"))

from rocketmq import Java, ended, missing
from run import consume, seconds

WANTED = {"1 KiB": (1.0, 3.0), "100 B": (1.0, 3.0), "mixed": (1.0, 3.0)}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--bytes", type=int, default=512 << 20)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    reason = missing()
    if reason is not None:
        print(f"not compared with Java: {reason}")
        return
    java = Java("5.5.0")
    pa.set_cpu_count(1)
    print("| RocketMQ's files | records | Java | default columns | ours ÷ Java, records/s | heads ÷ Java |\n|---|---|---|---|---|---|")
    for name, (wanted, wanted_of_heads) in WANTED.items():
        store = written(java, arguments.folder.absolute(), name, arguments.bytes)
        rounds = java.run("Bench", store / "commitlog", arguments.rounds + 3, home=store.parent / "bench")
        theirs, records = min(line["seconds"] for line in rounds[3:]), rounds[0]["records"]
        assert consume(str(store)) == records
        ours = min(seconds(lambda store=store: consume(str(store))) for _ in range(arguments.rounds))
        heads = min(seconds(lambda store=store: consume(str(store), HEADS)) for _ in range(arguments.rounds))
        rates = [f"{each:.2f} s, {records / each / 1e6:.2f} M/s" for each in (theirs, ours)]
        ratios = [f"{theirs / ours:.2f}, wanted {wanted}", f"{theirs / heads:.2f}, wanted {wanted_of_heads}"]
        print(f"| {name} | {records:,} | {' | '.join([*rates, *ratios])} |", flush=True)


if __name__ == "__main__":
    main()
