"""The facts of one pass over the log, without bodies: sizes by topic, queue, tag, host, kind and time, and the damage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import numpy_of
from native_reader.facts.seen import Seen
from native_reader.facts.table_facts import Tables
from native_reader.layout.record import Numbers
from native_reader.lazy import Scan
from native_reader.options import LENIENT, MessageOptions
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.split import Split
from native_reader.plan.ways import BySummary
from native_reader.records.damages import NO_DAMAGE, Damages, SegmentReport
from native_reader.storage.local import LocalPath
from native_reader.summary.part import read_part
from native_reader.summary.pieces import Unfit
from native_reader.sums import Tally, addresses, measures

_MOST_BINS = 20_000
_SECOND = 1_000_000
_WIDTHS = tuple(seconds * _SECOND for seconds in (60, 300, 900, 3600, 6 * 3600, 86_400, 7 * 86_400, 28 * 86_400, 364 * 86_400))
HOUR, DAY = 3600 * _SECOND, 86_400 * _SECOND


class TimeBins:
    """Bytes and messages by time, in microseconds since 1970. The bins widen if the times are far apart. `shift`: offset of the zone."""

    def __init__(self, shift: int = 0, most: int = _MOST_BINS) -> None:
        self._shift, self._most, self._widths = shift, most, list(_WIDTHS)
        self._bins: dict[int, tuple[int, int]] = {}

    @property
    def width(self) -> int:
        """The width of a bin, in microseconds."""
        return self._widths[0]

    def add(self, times: Numbers, sizes: Numbers) -> None:
        """Add messages."""
        bins, which = np.unique((times + self._shift) // self.width, return_inverse=True)
        sums = np.zeros(len(bins), np.int64)
        np.add.at(sums, which, sizes)
        counts = np.bincount(which, minlength=len(bins))
        for number, size, count in zip(bins.tolist(), sums.tolist(), counts.tolist(), strict=True):
            known = self._bins.get(number, (0, 0))
            self._bins[number] = known[0] + size, known[1] + count
        while len(self._bins) > self._most and len(self._widths) > 1:
            self._widen()

    def series(self, most: int) -> tuple[int, list[tuple[int, int, int]]]:
        """The width, and for each bin from the first to the last its start, bytes and messages; at most that many, or of the widest."""
        if not self._bins:
            return self.width, []
        view = TimeBins(self._shift)
        view._widths, view._bins = list(self._widths), dict(self._bins)
        while max(view._bins) - min(view._bins) >= most and len(view._widths) > 1:
            view._widen()
        first, last, none = min(view._bins), max(view._bins), (0, 0)
        numbers = range(first, last + 1) if last - first < most else sorted(view._bins)
        return view.width, [(number * view.width - self._shift, *view._bins.get(number, none)) for number in numbers]

    def since(self, time: int) -> int:
        """The bytes of the bins that begin at that time or later."""
        return sum(size for number, (size, _) in self._bins.items() if number * self.width - self._shift >= time)

    def _widen(self) -> None:
        old, bins = self.width, self._bins
        self._widths, self._bins = self._widths[1:], {}
        for number, (size, count) in bins.items():
            wide = number * old // self.width
            known = self._bins.get(wide, (0, 0))
            self._bins[wide] = known[0] + size, known[1] + count


COLUMNS = (
    "topic", "queue_id", "kind", "tags", "born_host", "store_host", "store_timestamp", "physical_offset", "record_size",
    "inner_index", "segment",
)  # fmt: skip
SIZES = (256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20)
"""Upper bounds of the size classes; the last class has none."""
EARLIEST = 1_262_304_000_000_000
"""2010, before the first RocketMQ, in microseconds. Earlier times are wrong."""
_ROWS, _BYTES = 1 << 16, 32 << 20
_END = 2**63 - 1
_SUMS = ("bytes", "messages", "records")


@dataclass(slots=True)
class LogFacts:
    """Sums over all messages. Bytes are those of whole records; the record of an inner batch counts once."""

    topics: Tally = field(default_factory=lambda: Tally(("topic",), _SUMS, most=("largest", "last")))
    """Apart from `places`: of many queues, these forget the small ones."""
    places: Tally = field(default_factory=lambda: Tally(("topic", "queue_id", "kind"), _SUMS, most=("largest",)))
    tags: Tally = field(default_factory=lambda: Tally(("topic", "tags"), _SUMS))
    hosts: Tally = field(default_factory=lambda: Tally(("born_host", "topic"), _SUMS, most=("largest",)))
    segments: Tally = field(default_factory=lambda: Tally(("segment",), _SUMS, least=("first",), most=("last",)))
    times: TimeBins = field(default_factory=TimeBins)
    size_bytes: Numbers = field(default_factory=lambda: np.zeros(len(SIZES) + 1, np.int64))
    size_records: Numbers = field(default_factory=lambda: np.zeros(len(SIZES) + 1, np.int64))
    messages: int = 0
    host: str | None = None
    """That of the first message."""
    bytes_known: int = 0
    """Bytes of the segments that a summary covers."""
    first: int | None = None
    last: int | None = None
    wrong_times: int = 0
    accounts: tuple[SegmentReport, ...] = ()
    damage: Damages = NO_DAMAGE
    bytes_read: int = 0
    seen: Seen = field(default_factory=Seen)
    _begin: int = _END
    """Where the first message is."""

    def add(self, rows: pa.Table, latest: int) -> None:
        """Add messages with COLUMNS. Store times after `latest` are wrong."""
        self._add_host(rows)
        stored = rows["store_timestamp"].cast(pa.int64())
        is_plausible = pc.fill_null(pc.and_(pc.greater_equal(stored, EARLIEST), pc.less_equal(stored, latest)), False)
        times = pc.if_else(is_plausible, stored, None)
        counted = {**measures(rows), "first": times, "last": times}
        table = pa.table({name: rows[name] for name in ("topic", "queue_id", "kind", "tags", "born_host", "segment")} | counted)
        self.topics.add(table)
        self.places.add(table)
        self.tags.add(table)
        self.hosts.add(_by_address(self.hosts.grouped(table)))
        self.segments.add(table)
        self.messages += len(rows)
        sizes, plausible = numpy_of(counted["bytes"]), numpy_of(is_plausible)
        self._add_times(numpy_of(stored.fill_null(0))[plausible], sizes[plausible])
        self.wrong_times += len(rows) - int(plausible.sum())
        is_record = numpy_of(counted["records"]) > 0
        self._add_sizes(sizes[is_record])
        self.seen.add(rows, is_record)

    def _add_host(self, rows: pa.Table) -> None:
        offsets = numpy_of(rows["physical_offset"])
        if len(offsets) and int(offsets.min()) < self._begin:  # messages of batches can come before others
            first = int(np.argmin(offsets))
            self._begin = int(offsets[first])
            (self.host,) = addresses(rows["store_host"].slice(first, 1)).to_pylist()

    def _add_times(self, times: Numbers, sizes: Numbers) -> None:
        if len(times):
            first, last = int(times.min()), int(times.max())
            self.first = first if self.first is None else min(self.first, first)
            self.last = last if self.last is None else max(self.last, last)
            self.times.add(times, sizes)

    def _add_sizes(self, sizes: Numbers) -> None:
        classes = np.searchsorted(SIZES, sizes)
        self.size_records += np.bincount(classes, minlength=len(SIZES) + 1)
        np.add.at(self.size_bytes, classes, sizes)


def read_log(tables: Tables, now: int, shift: int, summary: LocalPath | None = None) -> LogFacts:
    """One pass. Damage is skipped and listed. `now`, `shift`: microseconds; `shift` is the offset of the time zone."""
    scan = Scan((tables.files,), MessageOptions(columns=COLUMNS, summary=summary, **LENIENT, **tables.options))
    plan = scan.plan()
    ((uri, end),) = plan.ends
    seen = Seen(CheckedEnd(end, dict(plan.stale).get(uri, 0), next(iter(plan.lost), None)))
    run = scan.run(tables.jobs, tables.progress)
    facts = LogFacts(times=TimeBins(shift), seen=seen)
    for rows in _slabs(iter(run)):
        facts.add(rows, now + DAY)
    report = run.report
    known = {split.segment.uri: account for split in plan.splits if (account := _account_of(split)) is not None}
    facts.accounts = tuple(known.get(each.segment, each) if each.unread_bytes else each for each in report.segments)
    facts.damage, facts.bytes_read = Damages.of(report.damage), report.bytes_read
    facts.bytes_known = sum(account.size for account in known.values())
    return facts


def _account_of(split: Split) -> SegmentReport | None:
    """The account of a segment as its part of a summary has it; None if there is none, or if it no longer fits."""
    if not isinstance(split.way, BySummary):
        return None
    segment = split.segment
    try:
        facts = read_part(split.way.part, segment).facts
    except Unfit:
        return None
    sizes = {"record_bytes": facts.record_bytes, "blank_bytes": facts.blank_bytes}
    return SegmentReport(segment.uri, segment.base, segment.size, facts.records, **sizes)


def _slabs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Several batches at once: grouping costs as much for ten rows as for a thousand."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)


def _by_address(table: pa.Table) -> pa.Table:
    """The table with the addresses of hosts instead of the hosts."""
    return table.set_column(table.column_names.index("born_host"), "born_host", addresses(table["born_host"]))
