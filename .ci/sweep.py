#!/usr/bin/env python3
"""Runs the longest tests, and all cases of those that sample, in parts: make sweep PART="streams bits".

Arguments: names of parts; after `--`, options of pytest.
A part that passed is not run again, until its tests, what tests share, the product or the kernel change: build/sweep has a note of it.
For other samples of the same files, delete that note.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTES = ROOT / "build/sweep"
OF_FRAMES = ("frames", "large", "live", "pushdown", "where")
OF_JOBS = ("spark_cluster", "spark_example_runs", "spark_examples", "spark_pipeline", "spark_process")
PARTS: dict[str, tuple[str, ...]] = {
    "bits": ("tests/promises/test_every_bit.py",),
    "index": ("tests/promises/test_every_index_bit.py",),
    "queues": ("tests/promises/test_every_queue_bit.py", "tests/promises/test_faults_of_queues.py", "tests/verify"),
    "pruning": (*(f"tests/promises/test_{name}.py" for name in ("pruned_is_scanned", "keys", "own_stores")), "tests/plan", "tests/summary"),
    "fuzz": ("tests/promises/test_fuzz.py", "tests/promises/test_truth.py", "tests/testing"),
    "kernels": (
        "tests/kernel",
        "tests/records",
        "tests/log",
        "tests/columns",
        "tests/predicate",
        "tests/frames",
        "tests/api",
        "tests/storage",
    ),
    "streams": ("tests/stream", "tests/report"),
    "brokers": tuple(
        f"tests/brokers/test_{name}.py"
        for name in ("brokers", "compared_stores", "live_stores", "recovery", "resend", "started_stores", "tables")
    ),
    "starts": ("tests/brokers/test_whole_brokers.py",),
    "repaired": ("tests/brokers/test_repaired_stores.py",),
    "repairs": ("tests/repair",),
    "followed": ("tests/brokers/test_lake.py", "tests/brokers/test_stream_brokers.py", "tests/brokers/test_stream_torn.py"),
    "spark": tuple(f"tests/spark/test_spark_{name}.py" for name in (*OF_FRAMES, "damage", "recipes", "s3", "stream")),
    "jobs": tuple(f"tests/spark/test_{name}.py" for name in ("demo", "spark_blocks", *OF_JOBS)),
    "others": (
        "tests/broker",
        "tests/cli",
        "tests/tables/test_dlq.py",
        "tests/docs/test_blocks.py",
        "tests/docs/test_one_file.py",
        "tests/promises/test_hole_tail_or_stale.py",
    ),
    "kills": ("tests/spark/test_stream_kills.py",),
}
"""Files and folders of tests. tests/docs/test_sweep.py: each sampled test is in exactly one part."""
TIMED = ("followed", "kills", "spark", "jobs", "repaired", "brokers", "starts")
"""Parts whose tests wait for brokers and Sparks, which must answer in time. They run one after another. The other parts only compute:
they run beside these, one after another too, when a core is free. Later two of them run at once: at its end, a part uses only one core."""
CROWDED = frozenset({"repaired", "brokers", "starts"})
"""Parts with three processes for each core. The other timed ones start Spark, whose Python workers must come within seconds."""
READ = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore", "examples", "kernel", "tests", "setup.cfg")
PATIENCE = 7200
STOPPED = threading.Event()


def fingerprint(part: str) -> str:
    """A digest of what its tests run: the files that git knows or would add, and how the kernel was built. Not the tests of other parts."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *READ]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    digest = hashlib.sha256(os.environ.get("KERNEL_PROFILE", "release").encode())
    for name in sorted({each for each in names if each and (ROOT / each).is_file() and not _is_of_another(part, Path(each))}):
        digest.update(f"{name}\0{hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}\0".encode())
    return digest.hexdigest()


def _is_of_another(part: str, path: Path) -> bool:
    """Whether only the tests of other parts, or of none, are in this file."""
    return path.name.startswith("test_") and not any(Path(place) in (path, *path.parents) for place in PARTS[part])


def at_once(part: str) -> int:
    """How many processes of pytest. Each takes seconds to begin: where they only compute, more than cores would be of no use."""
    cores = os.cpu_count() or 1
    return 3 * cores if part in CROWDED else cores + 1 if part in TIMED else cores


def outcome(part: str, of: str, options: list[str], log: Path | None = None) -> str:
    """Run this part, unless it passed for these files. With `log`, what pytest prints goes there."""
    note = NOTES / f"{part}.passed"
    if note.exists() and note.read_text() == of:
        return "passed before, for the same files"
    limits = [f"--override-ini=timeout={PATIENCE}", f"--override-ini=faulthandler_timeout={PATIENCE + 30}"]
    more = ["-n", str(at_once(part))] if "-n" in options else []
    command = [sys.executable, "-m", "pytest", "-m", "sweep or long", *limits, "--durations=10", *options, *more, *PARTS[part]]
    begun = time.monotonic()
    with log.open("wb") if log else contextlib.nullcontext() as into:
        running = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"RMQSTORE_SWEEP": "whole"}, stdout=into, stderr=into)
    if part not in TIMED and hasattr(os, "SCHED_IDLE"):  # of Linux. A niceness would not last: tests set their own
        os.sched_setscheduler(running.pid, os.SCHED_IDLE, os.sched_param(0))
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    spent = f"{time.monotonic() - begun:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of the processor"
    if running.returncode:
        return f"FAILED in {spent}"
    NOTES.mkdir(parents=True, exist_ok=True)
    note.write_text(of)
    return f"passed in {spent}"


def outcomes(parts: Iterator[str], options: list[str], logs: Path | None) -> dict[str, str]:
    """Run these parts, one after another."""
    found = {}
    for part in parts:
        if STOPPED.is_set():
            break
        log = logs / f"{part}.log" if logs else None
        print(f"\n==== {part}{' begins' if log else ''}", flush=True)
        found[part] = outcome(part, fingerprint(part), options, log)
        if log:
            said = log.read_text(errors="replace") if found[part].startswith("FAILED") else ""
            print(f"\n==== {part} {found[part]}\n{said}", flush=True)
    return found


def taken_from(waiting: deque[str]) -> Iterator[str]:
    """Each part that no lane has taken yet."""
    with contextlib.suppress(IndexError):
        while True:
            yield waiting.popleft()


def main(arguments: list[str]) -> int:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    asked, options = arguments[:at] or list(PARTS), arguments[at + 1 :]
    if unknown := [each for each in asked if each not in PARTS]:
        print(f"no part '{unknown[0]}'; there are: {' '.join(PARTS)}", file=sys.stderr)
        return 2
    timed = [part for part in TIMED if part in asked]
    computing = [part for part in asked if part not in timed]
    waiting, begun = deque(computing), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as lanes:
        logs = Path(folder) if len(asked) > 1 else None
        drawn = chain(timed, taken_from(waiting)), taken_from(waiting)
        running = [lanes.submit(outcomes, parts, options, logs) for parts in drawn]
        try:
            found = {part: how for lane in running for part, how in lane.result().items()}
        except KeyboardInterrupt:
            STOPPED.set()
            raise
    print(f"\n==== the sweep: {time.monotonic() - begun:.0f} s")
    for part in (*timed, *computing):
        print(f"  {part:8} {found[part]}")
    return int(any(how.startswith("FAILED") for how in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
