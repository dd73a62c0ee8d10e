"""Reads the files of an Apache RocketMQ store as Arrow tables, without a running broker."""

from native_reader.api import Scan, Store, open
from native_reader.errors import (
    DataLoss,
    ExportError,
    OptionError,
    PathError,
    PredicateError,
    SchemaError,
    SplitError,
    StoreDamaged,
    StoreError,
    UnreadableError,
    UseError,
)
from native_reader.export.account import Exported
from native_reader.kernel import KernelInfo, kernel_info
from native_reader.plan.explain import Explanation
from native_reader.scan.progress import Progress
from native_reader.scan.run import Run

__all__ = [
    "DataLoss",
    "Explanation",
    "ExportError",
    "Exported",
    "KernelInfo",
    "OptionError",
    "PathError",
    "PredicateError",
    "Progress",
    "Run",
    "Scan",
    "SchemaError",
    "SplitError",
    "Store",
    "StoreDamaged",
    "StoreError",
    "UnreadableError",
    "UseError",
    "kernel_info",
    "open",
]
