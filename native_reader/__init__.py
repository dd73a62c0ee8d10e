"""Reads the files of an Apache RocketMQ store as Arrow tables, without a running broker."""

import gc
from typing import TYPE_CHECKING, Any

# What an import makes stays: a collector that looks through it again and again takes a seventh of the time, and finds nothing.
_collects = gc.isenabled()
gc.disable()
try:
    from native_reader.api import Store, diff, open, peers
    from native_reader.errors import (
        DataLoss,
        ExportError,
        OptionError,
        PathError,
        PredicateError,
        RepairError,
        SchemaError,
        SplitError,
        StoreDamaged,
        StoreError,
        UnreadableError,
        UseError,
    )
    from native_reader.kernel import KernelInfo, kernel_info
    from native_reader.lazy import Scan
    from native_reader.scan.progress import Progress
    from native_reader.scan.run import Run
finally:
    if _collects:
        gc.enable()

if TYPE_CHECKING:
    from native_reader.arrivals import Arrivals
    from native_reader.compare import Diff, Peers
    from native_reader.doctor import Diagnosis
    from native_reader.export.account import Exported
    from native_reader.facts import Facts
    from native_reader.increments import ExportedRun
    from native_reader.lost import Lost
    from native_reader.plan.explain import Explanation
    from native_reader.querying import Query
    from native_reader.repair import Repaired
    from native_reader.rescue import Rescued
    from native_reader.summarizing import Summarized
    from native_reader.verification import Verification

__all__ = [
    "Arrivals",
    "DataLoss",
    "Diagnosis",
    "Diff",
    "Explanation",
    "ExportError",
    "Exported",
    "ExportedRun",
    "Facts",
    "KernelInfo",
    "Lost",
    "OptionError",
    "PathError",
    "Peers",
    "PredicateError",
    "Progress",
    "Query",
    "RepairError",
    "Repaired",
    "Rescued",
    "Run",
    "Scan",
    "SchemaError",
    "SplitError",
    "Store",
    "StoreDamaged",
    "StoreError",
    "Summarized",
    "UnreadableError",
    "UseError",
    "Verification",
    "diff",
    "kernel_info",
    "open",
    "peers",
]


def __getattr__(name: str) -> Any:  # noqa: PLR0912  a case for each name
    """Results of methods: their modules are imported when they are used, because not every program needs them."""
    match name:
        case "Arrivals":
            from native_reader.arrivals import Arrivals

            return Arrivals
        case "Diagnosis":
            from native_reader.doctor import Diagnosis

            return Diagnosis
        case "Diff":
            from native_reader.compare import Diff

            return Diff
        case "Explanation":
            from native_reader.plan.explain import Explanation

            return Explanation
        case "Exported":
            from native_reader.export.account import Exported

            return Exported
        case "ExportedRun":
            from native_reader.increments import ExportedRun

            return ExportedRun
        case "Facts":
            from native_reader.facts import Facts

            return Facts
        case "Lost":
            from native_reader.lost import Lost

            return Lost
        case "Query":
            from native_reader.querying import Query

            return Query
        case "Peers":
            from native_reader.compare import Peers

            return Peers
        case "Repaired":
            from native_reader.repair import Repaired

            return Repaired
        case "Rescued":
            from native_reader.rescue import Rescued

            return Rescued
        case "Summarized":
            from native_reader.summarizing import Summarized

            return Summarized
        case "Verification":
            from native_reader.verification import Verification

            return Verification
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
