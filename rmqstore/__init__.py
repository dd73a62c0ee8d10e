"""Tables from the files of an Apache RocketMQ store, without a running broker: `rmqstore.open("/data/store").messages()`.

This is the public API. The engine, `native_reader`, is imported with the first of its names, so that the command starts without it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from native_reader import (
        Arrivals,
        DataLoss,
        Diagnosis,
        Diff,
        Explanation,
        Exported,
        ExportedRun,
        ExportError,
        Facts,
        KernelInfo,
        Lost,
        OptionError,
        PathError,
        Peers,
        PredicateError,
        Progress,
        Query,
        Repaired,
        RepairError,
        Rescued,
        Run,
        Scan,
        SchemaError,
        SplitError,
        Store,
        StoreDamaged,
        StoreError,
        Summarized,
        UnreadableError,
        UseError,
        Verification,
        diff,
        kernel_info,
        open,
        peers,
    )

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    import native_reader

    return getattr(native_reader, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
