"""The account of every byte, per segment, and the damage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import add, attrgetter

from native_reader.records.damages import Damage, Damages


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
