"""What became of every byte: an account per segment, and the damage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, order=True)
class Damage:
    """Bytes that are not what they should be: offsets `[start, end)` of a segment, and what was found there."""

    segment: str
    start: int
    end: int
    reason: str


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

    @property
    def unread_bytes(self) -> int:
        """What a pruned, limited or failed read never looked at."""
        return self.size - self.record_bytes - self.blank_bytes - self.damage_bytes - self.unwritten_bytes

    def __add__(self, other: SegmentReport) -> SegmentReport:
        return replace(
            self,
            records=self.records + other.records,
            record_bytes=self.record_bytes + other.record_bytes,
            blank_bytes=self.blank_bytes + other.blank_bytes,
            damage_bytes=self.damage_bytes + other.damage_bytes,
            unwritten_bytes=self.unwritten_bytes + other.unwritten_bytes,
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The accounts of some splits. `merge` is associative and commutative: splits merged are one pass."""

    segments: tuple[SegmentReport, ...] = ()
    damage: tuple[Damage, ...] = field(default=())
    rows: int = 0

    def merge(self, other: Report) -> Report:
        """Both together; damage that touches at a cut becomes one range."""
        return Report.merged((self, other))

    @staticmethod
    def merged(reports: Iterable[Report]) -> Report:
        """All of them together."""
        accounts: dict[str, SegmentReport] = {}
        damage: list[Damage] = []
        rows = 0
        for report in reports:
            for each in report.segments:
                mine = accounts.get(each.segment)
                accounts[each.segment] = each if mine is None else mine + each
            damage += report.damage
            rows += report.rows
        ordered = sorted(accounts.values(), key=lambda account: (account.segment.rpartition("/")[0], account.base))
        return Report(tuple(ordered), _joined(sorted(damage)), rows)


def _joined(damage: Iterable[Damage]) -> tuple[Damage, ...]:
    ranges: list[Damage] = []
    for each in damage:
        if ranges and ranges[-1].segment == each.segment and ranges[-1].end == each.start:
            ranges[-1] = replace(ranges[-1], end=each.end)
        else:
            ranges.append(each)
    return tuple(ranges)
