#!/usr/bin/env python3
"""Runs the longest tests, and all cases of those that sample, in parts: make sweep PART="streams bits".

Arguments: names of parts; after `--`, options of pytest.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OF_BROKERS = (
    "brokers",
    "compared_stores",
    "databases",
    "live_stores",
    "recovery",
    "resend",
    "started_stores",
    "synthetic_stores",
    "tables",
)
OF_FRAMES = ("frames", "large", "live", "pushdown", "where")
OF_JOBS = ("spark_cluster", "spark_example_runs", "spark_examples", "spark_pipeline", "spark_process")
PARTS: dict[str, tuple[str, ...]] = {
    "bits": ("tests/promises/test_every_bit.py",),
    "index": ("tests/promises/test_every_index_bit.py",),
    "queues": ("tests/promises/test_every_queue_bit.py", "tests/promises/test_faults_of_queues.py", "tests/verify"),
    "pruning": (
        *(f"tests/promises/test_{name}.py" for name in ("pruned_is_scanned", "listed_is_scanned", "keys", "own_stores")),
        *("tests/plan", "tests/summary"),
    ),
    "fuzz": ("tests/promises/test_fuzz.py", "tests/promises/test_truth.py", "tests/testing", "tests/start"),
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
    "brokers": tuple(f"tests/brokers/test_{name}.py" for name in OF_BROKERS),
    "starts": (
        "tests/brokers/test_dledger_starts.py",
        "tests/brokers/test_mqadmin_lines.py",
        "tests/brokers/test_repaired_kinds.py",
        "tests/brokers/test_repaired_light_queues.py",
        "tests/brokers/test_repaired_tier.py",
        "tests/brokers/test_versions.py",
        "tests/brokers/test_whole_brokers.py",
    ),
    "repaired": tuple(f"tests/brokers/test_{name}.py" for name in ("plain_stores", "repaired_databases", "repaired_stores")),
    "repairs": ("tests/repair",),
    "followed": ("tests/brokers/test_lake.py", "tests/brokers/test_stream_brokers.py", "tests/brokers/test_stream_torn.py"),
    "spark": tuple(f"tests/spark/test_spark_{name}.py" for name in (*OF_FRAMES, "damage", "kubernetes", "recipes", "s3", "stream")),
    "jobs": tuple(f"tests/spark/test_{name}.py" for name in ("demo", "spark_blocks", *OF_JOBS)),
    "others": (
        "tests/broker",
        "tests/cli",
        "tests/tables/test_dlq.py",
        "tests/docs/test_blocks.py",
        "tests/docs/test_whole_program.py",
        "tests/promises/test_hole_tail_or_stale.py",
    ),
    "kills": ("tests/spark/test_stream_kills.py",),
}
"""Files and folders of tests. tests/docs/test_workflows.py: each sampled test is in exactly one part."""
TIMED = ("followed", "kills", "spark", "jobs", "repaired", "brokers", "starts")
"""Parts whose tests wait for brokers and Sparks, which must answer in time. They run one after another. The other parts only compute:
they run beside these, one after another too, when a core is free. Later two of them run at once: at its end, a part uses only one core."""
CROWDED = frozenset({"repaired", "brokers", "starts"})
"""Parts with three processes for each core. The other timed ones start Spark, whose Python workers must come within seconds."""
PATIENCE = 7200
STOPPED = threading.Event()
FOUND: dict[str, str] = {}


def at_once(part: str) -> int:
    """How many processes of pytest. Each takes seconds to begin: where they only compute, more than cores would be of no use."""
    cores = os.cpu_count() or 1
    return 3 * cores if part in CROWDED else cores + 1 if part in TIMED else cores


def outcome(part: str, options: list[str], log: Path | None = None) -> str:
    """Run this part. With `log`, what pytest prints goes there."""
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
    how = "FAILED" if running.returncode else "passed"
    return f"{how} in {time.monotonic() - begun:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of the processor"


def lane(options: list[str], logs: Path | None, *waiting: deque[str]) -> None:
    """Run the parts that wait, one after another, each unless the other lane took it."""
    for queue in waiting:
        while not STOPPED.is_set():
            try:
                part = queue.popleft()
            except IndexError:
                break
            log = logs / f"{part}.log" if logs else None
            print(f"\n==== {part}{' begins' if log else ''}", flush=True)
            how = FOUND[part] = outcome(part, options, log)
            if log:
                print(f"\n==== {part} {how}\n{log.read_text(errors='replace') if how.startswith('FAILED') else ''}", flush=True)


def main(arguments: list[str]) -> int:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    asked, options = arguments[:at] or list(PARTS), arguments[at + 1 :]
    if unknown := [each for each in asked if each not in PARTS]:
        print(f"no part '{unknown[0]}'; there are: {' '.join(PARTS)}", file=sys.stderr)
        return 2
    begun = time.monotonic()
    timed, computing = deque(part for part in TIMED if part in asked), deque(part for part in asked if part not in TIMED)
    order = (*timed, *computing)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as lanes:
        logs = Path(folder) if len(asked) > 1 else None
        running = lanes.submit(lane, options, logs, timed, computing), lanes.submit(lane, options, logs, computing)
        try:
            for each in running:
                each.result()
        except KeyboardInterrupt:
            STOPPED.set()
            raise
    print(f"\n==== the sweep: {time.monotonic() - begun:.0f} s", *(f"  {part:8} {FOUND[part]}" for part in order), sep="\n")
    return int(any(how.startswith("FAILED") for how in FOUND.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
