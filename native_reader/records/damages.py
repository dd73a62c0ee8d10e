"""Damage as arrays, turned into objects on access, and the account of every byte of a segment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import add, attrgetter
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from native_reader.text import Said, say

CHECKSUM = "checksum"
FROM_PROPERTIES = "zeros from properties"
"""The record before is whole by its lengths and its body's checksum."""
PROPERTIES = "properties"
OTHER_TAG, OTHER_KEYS = "tag contradicted", "key contradicted"
"""A record that is whole by all that is in it."""
REASONS = {
    "zeros": "zeros at the start of the range: pages that were never written, or were lost",
    "magic": "no record magic where a record must start",
    "size": "an impossible record size",
    "cut off": "a record that extends past the end of the file, or a file that ends inside a record",
    "offset": "a record with another offset: old bytes of a reused file, or bytes inserted or removed before it",
    "lengths": "a record whose lengths do not add up to its size",
    "blank": "a blank that does not end at the end of its file",
    "entry": "a DLedger entry header that is missing or does not match its record",
    "too large": "a record larger than max_record_bytes",
    CHECKSUM: "a complete record whose checksum is wrong; checked only with verify_crc",
    PROPERTIES: "a whole record that its consume queue or the index contradicts: its properties are damaged, or their entries are",
    "unreadable": "bytes that could not be read from the disk or file system",
}
"""Every reason for damage, with its meaning."""
ANOMALIES = {
    "unreadable": ("unreadable", "bytes that could not be read"),
    "zeros": ("zeros", "zeros"),
    "no entry": ("entry", "no DLedger entry header"),
    "too few": ("cut off", "{number:,} bytes, too few for a record"),
    "blank": ("blank", "a blank whose size is not the {number:,} bytes left in the file"),
    "magic": ("magic", "no record magic"),
    "cut off": ("cut off", "a record larger than the {number:,} bytes left in the file"),
    "size": ("size", "an impossible record size ({number:,} bytes left in the file)"),
    "earlier": ("offset", "a record with offset {number:,} (old bytes of a reused file)"),
    "offset": ("offset", "a record with another offset (bytes inserted or removed before it, or old bytes of a reused file)"),
    "lengths": ("lengths", "a record whose lengths do not add up to its size"),
    "other entry": ("entry", "a DLedger entry header that does not match its record of {number:,} bytes"),
    "unreadable part": ("unreadable", "a record with bytes that could not be read"),
    "too large": ("too large", "a record of {number:,} bytes, larger than max_record_bytes"),
    "body checksum": (CHECKSUM, "the checksum of the stored body is wrong"),
    "checksum": (CHECKSUM, "the checksum of the record is wrong"),
    FROM_PROPERTIES: ("zeros", "zeros that begin in the properties of the record before, whose tags and keys may be lost"),
    OTHER_TAG: (PROPERTIES, "a whole record with another tag than its consume queue entry: the tag was lost, or the entry is wrong"),
    OTHER_KEYS: (PROPERTIES, "a whole record without a key that the index has for it: the key was lost, or the entry is wrong"),
}
"""What can be at a position instead of a record: one of REASONS, and the English sentence."""
SENTENCES = {anomaly: sentence for anomaly, (_, sentence) in ANOMALIES.items()}
_ANOMALIES = tuple(ANOMALIES)

RANGE = np.dtype(
    [
        *((name, np.int32) for name in ("segment", "anomaly")),
        *((name, np.int64) for name in ("start", "end", "before", "after", "number")),
    ]
)
"""The first two are indexes, into a list of URIs and into ANOMALIES. -1 is None."""
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
        return ANOMALIES[self.anomaly][0]

    @property
    def description(self) -> str:
        """What was found, in English."""
        return SENTENCES[self.anomaly].format(number=self.number)

    @property
    def said(self) -> tuple[Said, ...]:
        """What was found, for other languages."""
        return (say(self.anomaly, number=self.number),)


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
        return np.isin(self.ranges["anomaly"], [code for code, each in enumerate(ANOMALIES.values()) if each[0] in reasons])

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
