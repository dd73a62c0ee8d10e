"""What became of every byte: an account per segment, and the damage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

CHECKSUM = "checksum"
REASONS = {
    "zeros": "nothing but zeros at first: pages that were never written, or lost",
    "magic": "no magic of a record where one must stand",
    "size": "a size that no record can have",
    "cut off": "a record that goes on behind the end of the file, or a file that ends inside of one",
    "offset": "a record that says it lies elsewhere: old bytes of a file used again, or bytes put in or left out before it",
    "lengths": "a record whose lengths do not add up to its size",
    "blank": "a blank that does not reach to the end of its file",
    "entry": "no DLedger entry, or one that does not fit its record",
    "too large": "a record over max_record_bytes",
    CHECKSUM: "a whole record whose checksum is wrong; looked for with verify_crc only",
    "unreadable": "bytes that the file system or the disk did not give",
}
"""Every reason of damage, with its meaning."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are not what they should be: offsets `[start, end)` of a segment.

    `reason` is one of REASONS, `found` what stands there, in words. `before` and `behind` are the offsets of the records
    that end where it begins and begin where it ends; None where there is none.
    """

    segment: str
    start: int
    end: int
    reason: str
    found: str = ""
    before: int | None = None
    behind: int | None = None


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """One segment's account: what was looked at, in bytes by class, and how many records."""

    segment: str
    base: int
    size: int
    records: int = 0
    record_bytes: int = 0
    blank_bytes: int = 0
    damage_bytes: int = 0
    unwritten_bytes: int = 0
    stale_bytes: int = 0
    """Old records after the end of the log, which a broker took back."""

    @property
    def unread_bytes(self) -> int:
        """What a pruned, limited or failed read never looked at."""
        return self.size - self.record_bytes - self.blank_bytes - self.damage_bytes - self.unwritten_bytes - self.stale_bytes

    def __add__(self, other: SegmentReport) -> SegmentReport:
        return replace(
            self,
            records=self.records + other.records,
            record_bytes=self.record_bytes + other.record_bytes,
            blank_bytes=self.blank_bytes + other.blank_bytes,
            damage_bytes=self.damage_bytes + other.damage_bytes,
            unwritten_bytes=self.unwritten_bytes + other.unwritten_bytes,
            stale_bytes=self.stale_bytes + other.stale_bytes,
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The accounts of some splits. `merge` is associative and commutative: splits merged are one pass."""

    segments: tuple[SegmentReport, ...] = ()
    damage: tuple[Damage, ...] = field(default=())
    rows: int = 0
    bytes_read: int = 0
    """Bytes of the log that were brought into memory."""
    scanned: tuple[str, ...] = ()
    """The segments that queues should have pruned and that were scanned whole, and why."""

    def merge(self, other: Report) -> Report:
        """Both together; damage that touches at a cut becomes one range."""
        return Report.merged((self, other))

    @staticmethod
    def merged(reports: Iterable[Report]) -> Report:
        """All of them together."""
        accounts: dict[str, SegmentReport] = {}
        damage: list[Damage] = []
        rows = bytes_read = 0
        scanned: list[str] = []
        for report in reports:
            for each in report.segments:
                mine = accounts.get(each.segment)
                accounts[each.segment] = each if mine is None else mine + each
            damage += report.damage
            rows += report.rows
            bytes_read += report.bytes_read
            scanned += report.scanned
        ordered = sorted(accounts.values(), key=lambda account: (account.segment.rpartition("/")[0], account.base))
        told = _joined(sorted(damage, key=lambda each: (each.segment, each.start, each.end)))
        return Report(tuple(ordered), told, rows, bytes_read, tuple(sorted(set(scanned))))


def _joined(damage: Iterable[Damage]) -> tuple[Damage, ...]:
    """What touches at a cut is one; a record with a wrong checksum is damage by itself, wherever it lies."""
    ranges: list[Damage] = []
    for each in damage:
        last = ranges[-1] if ranges else None
        touches = last is not None and last.segment == each.segment and last.end == each.start
        if last is not None and touches and each.before is None and CHECKSUM not in (last.reason, each.reason):
            ranges[-1] = replace(last, end=each.end, behind=each.behind)
        else:
            ranges.append(each)
    return tuple(ranges)
