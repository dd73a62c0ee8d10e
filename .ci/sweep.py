#!/usr/bin/env python3
"""Runs the longest tests, and all cases of those that sample, in parts: make sweep PART="streams bits".

Arguments: names of parts; after `--`, options of pytest.
A part that passed is not run again, until its tests, what tests share, the product or the kernel change: build/sweep has a note of it.
For other samples of the same files, delete that note.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import time
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
    "followed": ("tests/brokers/test_stream_brokers.py", "tests/brokers/test_stream_torn.py", "tests/brokers/test_lake.py"),
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
WAITS = frozenset({"brokers", "starts", "repaired"})
"""Parts whose tests wait most of the time, for brokers that start, deliver and end. They get three processes for each core. Those of
`followed` wait too, but start Spark, whose Python workers must answer within seconds."""
READ = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore", "examples", "kernel", "tests", "setup.cfg")
PATIENCE = 7200


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


def outcome(part: str, of: str, options: list[str]) -> str:
    """Run this part, unless it passed for these files."""
    note = NOTES / f"{part}.passed"
    if note.exists() and note.read_text() == of:
        return "passed before, for the same files"
    limits = [f"--override-ini=timeout={PATIENCE}", f"--override-ini=faulthandler_timeout={PATIENCE + 30}"]
    more = ["-n", str(3 * (os.cpu_count() or 1))] if part in WAITS and "-n" in options else []
    command = [sys.executable, "-m", "pytest", "-m", "sweep or long", *limits, "--durations=10", *options, *more, *PARTS[part]]
    begun, before = time.monotonic(), _of_processor()
    code = subprocess.run(command, cwd=ROOT, env=os.environ | {"RMQSTORE_SWEEP": "whole"}, check=False).returncode
    spent = f"{time.monotonic() - begun:.0f} s, {_of_processor() - before:.0f} s of the processor"
    if code:
        return f"FAILED in {spent}"
    NOTES.mkdir(parents=True, exist_ok=True)
    note.write_text(of)
    return f"passed in {spent}"


def _of_processor() -> float:
    """Seconds of all processes that ended, which do not depend on what else the machine does."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main(arguments: list[str]) -> int:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    asked, options = arguments[:at] or list(PARTS), arguments[at + 1 :]
    if unknown := [each for each in asked if each not in PARTS]:
        print(f"no part '{unknown[0]}'; there are: {' '.join(PARTS)}", file=sys.stderr)
        return 2
    found = {}
    for part in asked:
        print(f"\n==== {part}", flush=True)
        found[part] = outcome(part, fingerprint(part), options)
    print("\n==== the sweep")
    for part, how in found.items():
        print(f"  {part:8} {how}")
    return int(any(how.startswith("FAILED") for how in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
