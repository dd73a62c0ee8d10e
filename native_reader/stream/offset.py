"""A stream's offsets as stored in its checkpoint: JSON that people can read.

    {"checksum": 1, "stores": {"file:///a": {"from": 0, "last": {"crc": 1, "offset": 512, "stored": "2026-…"}, "next": 768}}, "version": 2}

For each store: the batch began at log offset `from`, and the next one begins at `next`. `last` is the last record before
`next`; it identifies the log when the query resumes. Spark 4.3 does not store where a query began, so every offset holds the
start of its own batch. Spark compares offsets as text, so keys are sorted.

`checksum` is the CRC-32 of the other members as JSON with sorted keys. It detects edited offsets, which could silently repeat
or skip messages.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from reprlib import repr as short
from typing import Any, NamedTuple, TypeVar

from native_reader.errors import StoreError, option_name
from native_reader.layout.times import EPOCH
from native_reader.log.boundary import Boundary, Fingerprint

VERSION = 2
_START_OVER = (
    f"To start over, use a new checkpointLocation; set {option_name('starting_offsets')} or "
    f"{option_name('starting_physical_offset')} to choose where the new query begins"
)
_OFFSET = range(2**63)
_MILLISECONDS = range(-(2**63), 2**63)
_CRC = range(-(2**31), 2**31)

Value = TypeVar("Value")


class OffsetError(StoreError, ValueError):
    """An offset in a checkpoint is invalid."""


class Batch(NamedTuple):
    """The start and the end of a batch in one store."""

    start: int
    end: Boundary


Offset = Mapping[str, Batch]
"""By store URI: the batch of each store."""


def to_json(offset: Offset) -> dict[str, Any]:
    """The offset as Spark stores it."""
    stores = {uri: {"from": batch.start, **_boundary(batch.end)} for uri, batch in sorted(offset.items())}
    return {"checksum": _checksum(stores), "stores": stores, "version": VERSION}


def ends_to_json(ends: Mapping[str, Boundary]) -> dict[str, Any]:
    """The ends of the logs for Spark's progress. No query resumes from them, so there is no checksum."""
    return {"stores": {uri: _boundary(end) for uri, end in sorted(ends.items())}, "version": VERSION}


def from_json(text: Any) -> Offset:
    """The offset that Spark stored; OffsetError if it was changed."""
    _check_version(text)
    _check_members("", text, "checksum", "stores", "version")
    offset = _stores(text["stores"], _batch)
    if text["checksum"] != _checksum(text["stores"]):
        raise _changed("checksum", "that of the other members", text["checksum"])
    return offset


def ends_from_json(text: Any) -> dict[str, Boundary]:
    """The inverse of `ends_to_json`."""
    _check_version(text)
    _check_members("", text, "stores", "version")
    return _stores(text["stores"], _end)


def _checksum(stores: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps({"stores": stores, "version": VERSION}, sort_keys=True).encode())


def _boundary(end: Boundary) -> dict[str, Any]:
    last = None if end.last is None else {"crc": end.last.crc, "offset": end.last.offset, "stored": _stored(end.last.stored)}
    return {"last": last, "next": end.offset}


def _stored(milliseconds: int) -> str | int:
    """The time as text, or as milliseconds if it is outside the calendar."""
    try:
        return (EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return milliseconds


# Reading: nothing in a checkpoint is trusted


def _check_version(text: Any) -> None:
    version = text.get("version") if isinstance(text, dict) else None
    if type(version) is int and version == VERSION:
        return
    problem = f"does not contain an offset of rmqstore-spark: expected version {VERSION}, found {short(version)}."
    if type(version) is int and version > VERSION:
        problem = f"was written by a newer rmqstore-spark: its offsets have version {version}, this version reads {VERSION}. "
        problem += "Install the newer version."
    elif type(version) is int and version == 1:
        problem = "was written before the first release: its offsets have version 1, without a checksum."
    raise OffsetError(f"the checkpoint {problem} {_START_OVER}")


def _stores(stores: Any, read: Callable[[str, Any], Value]) -> dict[str, Value]:
    if not isinstance(stores, dict):
        raise _changed("stores", "an object", stores)
    return {uri: read(f"stores['{uri}']", value) for uri, value in stores.items()}


def _batch(where: str, value: Any) -> Batch:
    _check_members(where, value, "from", "last", "next")
    end = _end(where, {"last": value["last"], "next": value["next"]})
    start = _number(f"{where}.from", value["from"], _OFFSET)
    if start > end.offset:
        raise _changed(f"{where}.from", f"at most {end.offset}, as in next", start)
    return Batch(start, end)


def _end(where: str, value: Any) -> Boundary:
    _check_members(where, value, "last", "next")
    following = _number(f"{where}.next", value["next"], _OFFSET)
    if value["last"] is None:
        return Boundary(following)
    last = _fingerprint(f"{where}.last", value["last"])
    if following <= last.offset:
        raise _changed(f"{where}.next", f"more than {last.offset}, where the last record begins", following)
    return Boundary(following, last)


def _fingerprint(where: str, last: Any) -> Fingerprint:
    _check_members(where, last, "crc", "offset", "stored")
    offset, crc = _number(f"{where}.offset", last["offset"], _OFFSET), _number(f"{where}.crc", last["crc"], _CRC)
    return Fingerprint(offset, _milliseconds(f"{where}.stored", last["stored"]), crc)


def _milliseconds(where: str, stored: Any) -> int:
    if not isinstance(stored, str):
        return _number(where, stored, _MILLISECONDS)
    try:
        return (datetime.fromisoformat(stored) - EPOCH) // timedelta(milliseconds=1)
    except (TypeError, ValueError, OverflowError):
        raise _changed(where, "a time such as 2026-01-31T12:00:00.000Z", stored) from None


def _number(where: str, value: Any, allowed: range) -> int:
    if type(value) is not int or value not in allowed:
        raise _changed(where, f"an integer from {allowed.start} to {allowed.stop - 1}", value)
    return value


def _check_members(where: str, value: Any, *members: str) -> None:
    if not isinstance(value, dict) or value.keys() != set(members):
        given = sorted(value) if isinstance(value, dict) else value
        raise _changed(where or "the offset", f"the members {', '.join(members)}", given)


def _changed(where: str, expected: str, given: Any) -> OffsetError:
    return OffsetError(
        f"an offset in the checkpoint was changed after it was written. {where}: expected {expected}, found {short(given)}. "
        f"Restore the checkpoint from a copy. {_START_OVER}"
    )
