"""Measures how much a scan slows down the broker of the store: the latency of its producers' sends, median and 99th percentile.

A broker 5.5.0 has a store of 1 GiB and four producers that send as fast as they can. Meanwhile another process does nothing, or repeats
a full scan: with the log in the page cache, not in the page cache, or with `max_read_rate`. Needs a JDK 17 and Maven.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "brokers"))

from java import written
from measure import parser_of, print_setting
from rocketmq import Broker, Java, missing, running

SCAN = """
import os, sys, time
import native_reader as nr
path, rate, drop_cache = sys.argv[1], sys.argv[2] or None, sys.argv[3] == "True"
print("begun", flush=True)
read, begun = 0, time.monotonic()
while True:
    if drop_cache:
        for segment in nr.open(path).stores[0].segments:
            descriptor = os.open(segment.uri.removeprefix("file://"), os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
    scan = nr.open(path).messages(max_read_rate=rate)
    for batch in scan.to_batches():
        read += batch.nbytes
        print(int(read / (time.monotonic() - begun)), flush=True)
"""
CASES = {
    "no scan": None,
    "repeated scans": ("", False),
    "the same, log not in the page cache": ("", True),
    "the same, max_read_rate=64m": ("64m", True),
}


def measured(broker: Broker, seconds: int, case: tuple[str, bool] | None) -> tuple[float, float, int, int]:
    """Send latency in milliseconds (median and 99th percentile), number of sends, and bytes per second from the scan."""
    if case is None:
        return (*latencies(broker, seconds), 0)
    scanning = subprocess.Popen(
        [sys.executable, "-c", SCAN, str(broker.store), case[0], str(case[1])],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])},
    )
    assert scanning.stdout is not None
    assert scanning.stdout.readline() == "begun\n"
    try:
        sends = latencies(broker, seconds)
    finally:
        scanning.kill()
    return (*sends, int(scanning.stdout.read().splitlines()[-2]))


def latencies(broker: Broker, seconds: int) -> tuple[float, float, int]:
    (result,) = [line for line in broker.traffic_once("load", seconds) if "median" in line]
    return result["median"] / 1000, result["slow"] / 1000, len(result["acknowledged"])


def main() -> None:
    parser = parser_of(__doc__, 1 << 30, 3)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    reason = missing()
    if reason is not None:
        print(f"not measured: {reason}")
        return
    java = Java("5.5.0")
    log = written(java, arguments.folder, "1 KiB", arguments.bytes)
    settings = {
        "mappedFileSizeCommitLog": (log / "commitlog" / f"{0:020}").stat().st_size,
        "mappedFileSizeConsumeQueue": 6_000_000, "maxHashSlotNum": 5_000_000, "maxIndexNum": 20_000_000, "maxMessageSize": 4 << 20,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "broker"
        subprocess.run(["cp", "-r", "--sparse=always", str(log), f"{scratch}/store"], check=True)
        with running(java, home, storePathRootDir=f"{scratch}/store", **settings) as broker:
            latencies(broker, arguments.seconds)  # warm up: Java compiles its code
            rounds = [[measured(broker, arguments.seconds, case) for case in CASES.values()] for _ in range(arguments.rounds)]
    print_setting()
    print("| other process | median of a send, ms | 99th percentile, ms | sends/s | scanned, MiB of rows/s |")
    print("|---|---|---|---|---|")
    for number, name in enumerate(CASES):
        figures = zip(*(each[number] for each in rounds), strict=True)
        median, slow, sends, scanned = map(statistics.median, figures)
        cells = (name, f"{median:.2f}", f"{slow:.2f}", f"{sends / arguments.seconds:,.0f}", f"{scanned / 2**20:,.0f}")
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
