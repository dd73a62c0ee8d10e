"""Measures the plans of a fleet: 100 brokers of 1 TiB in object storage. The storage is simulated: it answers from rules.

A broker has 1,024 segments of 1 GiB, records of 1 KiB, and ten topics of four queues; it has no index, and 3,600 files of queues. The
storage counts calls. Each takes as long as `--delay` says, and those of several threads pass together.
"""

from __future__ import annotations

import pickle
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from measure import MIB, parser_of, print_setting
from support.fleet import FleetStorage

import native_reader as nr
from native_reader.scan.run import tasks_of

QUESTIONS: dict[str, dict[str, Any]] = {
    "all": {},
    "a topic": {"topic": "topic-3"},
    "an hour": {"starting_timestamp": "2026-01-05T20:00:00Z", "ending_timestamp": "2026-01-05T21:00:00Z"},
    "a topic and an hour": {
        "topic": "topic-3",
        "starting_timestamp": "2026-01-05T20:00:00Z",
        "ending_timestamp": "2026-01-05T21:00:00Z",
    },
    "a partition of 1 GiB": {"max_partition_bytes": 1 << 30},
}


def main() -> None:
    parser = parser_of(__doc__, MIB, 1)
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--segments", type=int, default=1024)
    parser.add_argument("--unwritten", type=int, default=16 * MIB, help="bytes of zeros at the end of each log")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds of a call")
    arguments = parser.parse_args()
    print_setting()
    fleet = FleetStorage(arguments.brokers, arguments.segments, unwritten=arguments.unwritten, delay=arguments.delay)
    begun, spent = time.perf_counter(), time.process_time()
    store = nr.open(f"{fleet.url}/*/store")
    print("| question | time | of the processor | list | entry | open | read | splits | tasks | pickled | memory |\n" + "|---" * 11 + "|")
    _print("open", fleet.calls, begun, spent, None)
    for name, options in QUESTIONS.items():
        fleet.calls.clear()
        begun, spent = time.perf_counter(), time.process_time()
        plan = store.messages(**options).plan()
        _print(name, fleet.calls, begun, spent, plan)


def _print(name: str, calls: Counter[str], begun: float, spent: float, plan: Any) -> None:
    clock, processor = time.perf_counter() - begun, time.process_time() - spent
    tasks = [] if plan is None else tasks_of(plan)
    size = sum(len(pickle.dumps(task)) for task in tasks)
    counted = " | ".join(f"{calls[kind]:,}" for kind in ("list", "entry", "open", "read"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    splits = 0 if plan is None else len(plan.splits)
    print(
        f"| {name} | {clock:.1f} s | {processor:.1f} s | {counted} | {splits:,} | {len(tasks):,} | {size / MIB:,.0f} MiB | {peak:,} MiB |",
        flush=True,
    )


if __name__ == "__main__":
    main()
