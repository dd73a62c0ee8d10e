"""A stream's offsets, as they stand in its checkpoint: JSON that a person can read.

    {"stores": {"file:///data/store": {"from": 0, "last": {"crc": 1, "offset": 512, "stored": "2026-…"}, "next": 768}}, "version": 1}

Of each store: `next`, the offset in its log at which the next batch begins; `from`, where the batch that ends there began; and
`last`, the last record before `next`, by which it is known again. Spark 4.3 does not write down where a query began, so
every offset says it of its own batch; and it compares offsets as text, so keys are sorted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from native_reader.errors import StoreError
from native_reader.scan.boundary import Boundary, Fingerprint

VERSION = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AFRESH = "A new checkpointLocation starts afresh"
_MOST = 2**63


class OffsetError(StoreError, ValueError):
    """An offset in a checkpoint cannot be read."""


class Batch(NamedTuple):
    """Of one store: where a batch began, and where it ended."""

    start: int
    end: Boundary


Offset = Mapping[str, Batch]
"""The batches of all stores, by their URIs."""


def to_json(offset: Offset) -> dict[str, Any]:
    """The offset as Spark keeps it."""
    stores = {uri: {"from": batch.start, **_boundary(batch.end)} for uri, batch in sorted(offset.items())}
    return {"stores": stores, "version": VERSION}


def ends_to_json(ends: Mapping[str, Boundary]) -> dict[str, Any]:
    """How far logs go, for Spark's progress."""
    return {"stores": {uri: _boundary(end) for uri, end in sorted(ends.items())}, "version": VERSION}


def from_json(text: Mapping[str, Any]) -> Offset:
    """The offset that Spark kept."""
    version = text.get("version") if isinstance(text, Mapping) else None
    if isinstance(version, int) and version > VERSION:
        raise OffsetError(
            f"the checkpoint was written by a newer rmqstore-spark: its offsets have version {version}, this one reads {VERSION}. "
            f"Install the newer one again. {_AFRESH}"
        )
    if version != VERSION:
        raise OffsetError(f"the checkpoint holds no offset of rmqstore-spark: it has version {version!r}, not {VERSION}. {_AFRESH}")
    try:
        return {str(uri): Batch(_number(said["from"]), _read(said)) for uri, said in text["stores"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise OffsetError(f"an offset in the checkpoint was changed or cut: {type(error).__name__} {error}. {_AFRESH}") from error


def _boundary(end: Boundary) -> dict[str, Any]:
    last = None if end.last is None else {"crc": end.last.crc, "offset": end.last.offset, "stored": _stored(end.last.stored)}
    return {"last": last, "next": end.offset}


def _read(said: Mapping[str, Any]) -> Boundary:
    last = said["last"]
    if last is None:
        return Boundary(_number(said["next"]))
    stored = last["stored"]
    return Boundary(_number(said["next"]), Fingerprint(_number(last["offset"]), _milliseconds(stored), int(last["crc"])))


def _stored(milliseconds: int) -> str | int:
    """The moment in words; one that no calendar knows as it is."""
    try:
        return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return milliseconds


def _milliseconds(stored: str | int) -> int:
    return stored if isinstance(stored, int) else (datetime.fromisoformat(stored) - _EPOCH) // timedelta(milliseconds=1)


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise ValueError(f"{value!r} is no offset")
    return value
