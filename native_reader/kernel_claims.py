"""Claims and entries of consume queues, computed by the compiled kernel where it is installed.

Arrays are int64 in native byte order, contiguous. Every function returns None where numpy decides: without a compiled kernel,
and for input that no broker writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Lists = Sequence[tuple[Numbers, Numbers]]
"""Offsets and sizes of the claims of each queue."""

_compiled: Any
try:
    _compiled = import_module("rmqstore_kernel")
except ImportError:
    _compiled = None


def merged_claims(wanted: Lists, unwanted: Lists, low: int) -> tuple[Numbers, Numbers, NDArray[np.bool_]] | None:
    """The claimed bytes in order, all at or after `low`: offsets, sizes, and which are unwanted, as `tiles_of` has them."""
    found = _called("merged_claims", wanted, unwanted, low)
    return None if found is None else (_numbers(found[0]), _numbers(found[1]), np.frombuffer(found[2], np.bool_))


def unclaimed_extents(
    wanted: Lists, unwanted: Lists, low: int, begin: int, frame: int
) -> tuple[Numbers, Numbers, Numbers, int, int] | None:
    """What those claims leave to read from position `begin` on: the fields of `Left`. Positions are offsets minus `low`."""
    found = _called("unclaimed_extents", wanted, unwanted, low, begin, frame)
    if found is None:
        return None
    (starts, ends, named), last, largest = found
    return _numbers(starts), _numbers(ends), _numbers(named), last, largest


def queue_entries(units: NDArray[np.void], first: int) -> tuple[Numbers, Numbers, Numbers, Numbers] | None:
    """The written ones of these entries, as the file has them: numbers, offsets, sizes, tags codes. `first`: number of the first one."""
    found = _called("queue_entries", units.view(np.uint8), first)
    if found is None:
        return None
    numbers, offsets, sizes, codes = map(_numbers, found)
    return numbers, offsets, sizes, codes


def ascending_within(offsets: Numbers, low: int, high: int) -> NDArray[np.bool_] | None:
    """Which offsets are in `[low, high)`, above all previous and below all following ones."""
    found = _called("ascending_within", offsets, low, high)
    return None if found is None else np.frombuffer(found, np.bool_)


def _called(name: str, *arguments: object) -> Any:
    if _compiled is None:
        return None
    try:
        return getattr(_compiled, name)(*arguments)
    except OverflowError:  # a number that does not fit in 64 bits
        return None


def _numbers(content: bytearray) -> Numbers:
    return np.frombuffer(content, np.int64)
