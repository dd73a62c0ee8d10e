"""Damage as arrays, turned into objects on access, and the account of every byte of a segment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import add, attrgetter
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.sentences import Said, say

CHECKSUM = "checksum"
FROM_PROPERTIES = "zeros from properties"
"""The record before is whole by its lengths and its body's checksum."""
PROPERTIES = "properties"
UNREADABLE = "unreadable"
OTHER_TAG, OTHER_KEYS = "tag contradicted", "key contradicted"
"""A record that is whole by all that is in it."""
REASONS = (
    "zeros",
    "magic",
    "size",
    "cut off",
    "offset",
    "lengths",
    "blank",
    "entry",
    "too large",
    CHECKSUM,
    PROPERTIES,
    UNREADABLE,
)
"""Every reason for damage. What each means: the sentence `reason` and its name."""
ANOMALIES = {
    "unreadable": "unreadable",
    "zeros": "zeros",
    "no entry": "entry",
    "too few": "cut off",
    "blank": "blank",
    "magic": "magic",
    "cut off": "cut off",
    "size": "size",
    "earlier": "offset",
    "offset": "offset",
    "lengths": "lengths",
    "other entry": "entry",
    "unreadable part": "unreadable",
    "too large": "too large",
    "body checksum": CHECKSUM,
    "checksum": CHECKSUM,
    FROM_PROPERTIES: "zeros",
    OTHER_TAG: PROPERTIES,
    OTHER_KEYS: PROPERTIES,
}
"""What can be at a position instead of a record, each a kind of sentence, and its reason."""
_ANOMALIES = tuple(ANOMALIES)

RANGE = np.dtype(
    [
        *((name, np.int32) for name in ("segment", "anomaly")),
        *((name, np.int64) for name in ("start", "end", "before", "after", "number")),
    ]
)
"""The first two are indexes, into a list of URIs and into ANOMALIES. -1 is None."""
_SENT = tuple(name for name in RANGE.fields or () if name != "segment")
SCHEMA = pa.schema([("segment", pa.string()), *((name, pa.int64()) for name in _SENT)])
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Damage:
    """Invalid bytes: offsets `[start, end)` of a segment.

    `anomaly` is one of ANOMALIES, `number` belongs to it. `before` is the offset of the record that ends at `start`, `after` of
    the one that begins at `end`; None if there is none.
    """

    segment: str
    start: int
    end: int
    anomaly: str
    number: int = 0
    before: int | None = None
    after: int | None = None

    @property
    def reason(self) -> str:
        """One of REASONS."""
        return ANOMALIES[self.anomaly]

    @property
    def description(self) -> str:
        """What was found, in English."""
        return self.said.text()

    @property
    def said(self) -> Said:
        """What was found."""
        return say(self.anomaly, number=self.number)


class Damages(Sequence[Damage]):
    """Many ranges, at 48 bytes each; equal to any sequence of the same ranges."""

    def __init__(self, ranges: NDArray[np.void], segments: Sequence[str]) -> None:
        self.ranges, self._segments = ranges, segments

    @staticmethod
    def of(damage: Iterable[Damage]) -> Damages:
        """Convert ranges to arrays."""
        if isinstance(damage, Damages):
            return damage
        segments: dict[str, int] = {}
        rows = [
            (
                *(segments.setdefault(each.segment, len(segments)), _ANOMALIES.index(each.anomaly)),
                *(each.start, each.end, _number(each.before), _number(each.after), each.number),
            )
            for each in damage
        ]
        return Damages(np.array(rows, RANGE), tuple(segments))

    @staticmethod
    def of_records(segment: str, starts: NDArray[np.int64], ends: NDArray[np.int64], anomaly: str) -> Damages:
        """Complete records with that anomaly."""
        ranges = np.zeros(len(starts), RANGE)
        ranges["anomaly"], ranges["start"], ranges["end"] = _ANOMALIES.index(anomaly), starts, ends
        ranges["before"] = ranges["after"] = _number(None)
        return Damages(ranges, (segment,))

    @staticmethod
    def joined(pieces: Iterable[Damages]) -> Damages:
        """Concatenate the ranges of all pieces."""
        pieces = [piece for piece in pieces if len(piece)]
        if not pieces:
            return NO_DAMAGE
        segments: dict[str, int] = {}
        ranges = [piece.ranges.copy() for piece in pieces]
        for piece, own in zip(pieces, ranges, strict=True):
            codes = np.array([segments.setdefault(segment, len(segments)) for segment in piece._segments], np.int32)
            own["segment"] = codes[own["segment"]]
        return Damages(np.concatenate(ranges), tuple(segments))

    def merged(self) -> Damages:
        """Sort by segment and offset, and join ranges that touch at a cut. A complete record stays separate."""
        if not len(self):
            return self
        order = np.argsort(np.array(self._segments, np.str_), kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        ranges = self.ranges
        ranges = ranges[np.lexsort((ranges["end"], ranges["start"], ranks[ranges["segment"]]))] if len(ranges) > 1 else ranges
        is_record = Damages(ranges, self._segments).are(CHECKSUM, PROPERTIES)
        touches = (ranges["segment"][1:] == ranges["segment"][:-1]) & (ranges["start"][1:] == ranges["end"][:-1])
        touches &= (ranges["before"][1:] < 0) & ~is_record[1:] & ~is_record[:-1]
        if not touches.any():
            return Damages(ranges, self._segments)
        firsts = np.flatnonzero(np.concatenate(([True], ~touches)))
        lasts = np.concatenate((firsts[1:], [len(ranges)])) - 1
        joined = ranges[firsts]
        for name in ("end", "after"):
            joined[name] = ranges[name][lasts]
        return Damages(joined, self._segments)

    def are(self, *reasons: str) -> NDArray[np.bool_]:
        """Which ranges have one of these reasons."""
        return np.isin(self.ranges["anomaly"], [code for code, each in enumerate(ANOMALIES.values()) if each in reasons])

    def where(self, which: NDArray[Any]) -> Damages:
        """A selection of the ranges."""
        return Damages(self.ranges[which], self._segments)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The start of each range."""
        return self.ranges["start"]

    @property
    def ends(self) -> NDArray[np.int64]:
        """The first offset after each range."""
        return self.ranges["end"]

    def batch(self) -> pa.RecordBatch:
        """The ranges as rows, to be sent: `from_batch` reads them."""
        segments = array(self._segments, pa.string()).take(array(self.ranges["segment"]))
        return pa.RecordBatch.from_arrays([segments, *(array(self.ranges[name].astype(np.int64)) for name in _SENT)], schema=SCHEMA)

    @staticmethod
    def from_batch(batch: pa.RecordBatch) -> Damages:
        """What `batch` gave."""
        segments = batch.column(0).dictionary_encode()
        ranges = np.zeros(len(batch), RANGE)
        ranges["segment"] = numpy_of(segments.indices)
        for name in _SENT:
            ranges[name] = numpy_of(batch.column(name))
        return Damages(ranges, tuple(segments.dictionary.to_pylist()))

    def __len__(self) -> int:
        return len(self.ranges)

    @overload
    def __getitem__(self, which: int) -> Damage: ...

    @overload
    def __getitem__(self, which: slice) -> Damages: ...

    def __getitem__(self, which: int | slice) -> Damage | Damages:
        if isinstance(which, slice):
            return Damages(self.ranges[which], self._segments)
        return self._damage(self.ranges[which].item())

    def __iter__(self) -> Iterator[Damage]:
        for begin in range(0, len(self), _ROWS_AT_ONCE):
            yield from map(self._damage, self.ranges[begin : begin + _ROWS_AT_ONCE].tolist())

    def _damage(self, row: tuple[int, ...]) -> Damage:
        segment, anomaly, start, end, before, after, number = row
        return Damage(self._segments[segment], start, end, _ANOMALIES[anomaly], number, _offset(before), _offset(after))

    def __eq__(self, other: object) -> bool:
        return len(self) == len(other) and all(map(Damage.__eq__, self, other)) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


NO_DAMAGE = Damages(np.empty(0, RANGE), ())


def _number(offset: int | None) -> int:
    return -1 if offset is None else offset


def _offset(number: int) -> int | None:
    return None if number < 0 else number


@dataclass(slots=True)
class Account:
    """The bytes that one walk passed, by class, and its number of records. Counts up while the walk runs."""

    records: int = 0
    record_bytes: int = 0
    blank_bytes: int = 0
    damage_bytes: int = 0
    unwritten_bytes: int = 0

    def __add__(self, other: Account) -> Account:
        return Account(*map(add, counts_of(self), counts_of(other)))


counts_of = attrgetter(*(field.name for field in fields(Account)))
"""The counts of an `Account` or a `SegmentReport`, in the order of `Account`."""


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """One segment's account: the bytes read, by class, and the number of records."""

    segment: str
    base: int
    size: int
    records: int = 0
    record_bytes: int = 0
    blank_bytes: int = 0
    damage_bytes: int = 0
    unwritten_bytes: int = 0
    stale_bytes: int = 0
    """Old records after the end of the log, left when a broker truncated it."""

    @property
    def unread_bytes(self) -> int:
        """Bytes that a pruned, limited or failed read did not look at."""
        return self.size - self.record_bytes - self.blank_bytes - self.damage_bytes - self.unwritten_bytes - self.stale_bytes

    def __add__(self, other: SegmentReport) -> SegmentReport:
        counts = *map(add, counts_of(self), counts_of(other)), self.stale_bytes + other.stale_bytes
        return SegmentReport(self.segment, self.base, self.size, *counts)


@dataclass(frozen=True, slots=True)
class Report:
    """The accounts of some splits. `merged` is associative and commutative: all splits merged equal one pass."""

    segments: tuple[SegmentReport, ...] = ()
    damage: Sequence[Damage] = ()
    rows: int = 0
    bytes_read: int = 0
    """Bytes of the log that were read into memory."""
    scanned: tuple[str, ...] = ()
    """The segments that were scanned whole although queues should have pruned them, and why."""

    @staticmethod
    def merged(reports: Iterable[Report]) -> Report:
        """Merge all reports; damage that touches at a cut becomes one range."""
        accounts: dict[str, SegmentReport] = {}
        damage: list[Damages] = []
        rows = bytes_read = 0
        scanned: list[str] = []
        for report in reports:
            for each in report.segments:
                known = accounts.get(each.segment)
                accounts[each.segment] = each if known is None else known + each
            damage.append(Damages.of(report.damage))
            rows += report.rows
            bytes_read += report.bytes_read
            scanned += report.scanned
        ordered = sorted(accounts.values(), key=lambda account: (account.segment.rpartition("/")[0], account.base))
        return Report(tuple(ordered), Damages.joined(damage).merged(), rows, bytes_read, tuple(sorted(set(scanned))))
