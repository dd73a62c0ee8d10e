"""Reads the files of an Apache RocketMQ store as Arrow tables, without a running broker."""

from importlib import import_module  # noqa: TID251 - the contracts see these imports under TYPE_CHECKING
from typing import TYPE_CHECKING, Any

from native_reader.api import Store, open
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
from native_reader.lazy import Scan
from native_reader.plan.explain import Explanation
from native_reader.scan.progress import Progress
from native_reader.scan.run import Run

if TYPE_CHECKING:
    from native_reader.arrivals import Arrivals
    from native_reader.doctor import Diagnosis
    from native_reader.facts import Facts
    from native_reader.rescue import Rescued
    from native_reader.verification import Verification

_LATER = {"Arrivals": "arrivals", "Diagnosis": "doctor", "Facts": "facts", "Rescued": "rescue", "Verification": "verification"}
"""Results of methods, with their modules: imported when they are used."""

__all__ = [
    "Arrivals",
    "DataLoss",
    "Diagnosis",
    "Explanation",
    "ExportError",
    "Exported",
    "Facts",
    "KernelInfo",
    "OptionError",
    "PathError",
    "PredicateError",
    "Progress",
    "Rescued",
    "Run",
    "Scan",
    "SchemaError",
    "SplitError",
    "Store",
    "StoreDamaged",
    "StoreError",
    "UnreadableError",
    "UseError",
    "Verification",
    "kernel_info",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
