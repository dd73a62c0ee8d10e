"""All facts about a store: what `report` gathers, and a page shows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, NamedTuple

from native_reader.broker.identity import UNKNOWN, Identity, identity_of
from native_reader.checks import Instant, instant, size, text
from native_reader.facts.log_facts import DAY, HOUR, LogFacts, read_log
from native_reader.facts.table_facts import (
    LagOfGroups,
    Pending,
    Problem,
    Tables,
    attempt,
    look_at_all_queues,
    older_of,
    read_dead,
    read_findings,
    read_lag,
    read_pending,
)
from native_reader.options import LENIENT, MessageOptions
from native_reader.plan.lost import Missing
from native_reader.predicate.sql import moment_zone
from native_reader.records.damages import Damages
from native_reader.scan.progress import Watch
from native_reader.sides.deleted import DeletedInAll
from native_reader.start import Start, answer_for
from native_reader.storage.local import LocalPath
from native_reader.storage.protocol import Disk
from native_reader.storage.store import Segment, StoreFiles, past_failures
from native_reader.storage.usage import Usage, disk_of, usage_of
from native_reader.sums import Tally
from native_reader.tables.table import TableRequest, lost_of, missing_in
from native_reader.verify.findings import FirstFindings
from native_reader.verify.removed import RESERVED
from native_reader.witness.entries import Sample

_MICROSECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """How a report is made. `now`: microseconds since 1970. `free`: the free bytes of the broker's disk, if known.

    `disk`: the disk that the store is on, if it is the broker's. Here, because the same settings give the same page.
    `options`: of all reads; all tables must take them. `reserved`: the hours for which the broker keeps a segment. `configured`: what
    its configuration file says of the broker. `summary`: its folder.
    """

    now: int
    zone: tzinfo = UTC
    zone_name: str = "UTC"
    free: int | None = None
    disk: Disk | None = None
    reserved: int = RESERVED
    verify: bool = False
    jobs: int = 1
    configured: Identity = UNKNOWN
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Watch = False
    summary: LocalPath | None = None

    @property
    def shift(self) -> int:
        """The offset of the time zone, in microseconds."""
        offset = datetime.fromtimestamp(self.now // _MICROSECOND, self.zone).utcoffset()
        return 0 if offset is None else int(offset.total_seconds()) * _MICROSECOND


@dataclass(frozen=True, slots=True)
class DeletedInLog:
    """The deleted topics that still have records, the largest first, and what these take of the log."""

    names: tuple[str, ...] = ()
    messages: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts. A `Problem` says why a part could not be read; `findings` is None if they were not asked for.

    Examples:
        >>> facts = rmqstore.open("damaged").report()
        >>> facts.is_clean, facts.damaged_bytes > 0
        (False, True)
    """

    settings: ReportSettings
    uri: str
    segments: tuple[Segment, ...]
    missing: tuple[Missing, ...]
    usage: Usage
    log: LogFacts
    broker: Identity
    deleted: DeletedInLog
    lag: LagOfGroups | Problem
    pending: Pending | Problem
    dead: Tally | Problem
    findings: FirstFindings | Problem | None
    older: Mapping[str, int] | Problem = field(default_factory=dict)
    """By topic: how many records queues name from before the log."""
    start: Start | Problem | None = None
    """Whether a broker may be started."""

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size for segment in self.segments)

    @property
    def damaged_bytes(self) -> int:
        """Damaged bytes, and bytes that should be there but are not."""
        return sum(account.damage_bytes for account in self.log.accounts) + sum(gap.stop - gap.start for gap in self.missing)

    @property
    def damaged_places(self) -> int:
        """The number of damaged and missing ranges."""
        return len(self.log.damage) + len(self.missing)

    def counts(self) -> dict[str, int | None]:
        """The most important numbers, for programs."""
        findings = self.findings if isinstance(self.findings, FirstFindings) else None
        return {
            "bytes": self.size,
            "disk_bytes": self.usage.total,
            "messages": self.log.messages,
            "deleted_topics": len(self.deleted.names),
            "deleted_bytes": self.deleted.bytes,
            "damaged_ranges": self.damaged_places,
            "damaged_bytes": self.damaged_bytes,
            "errors": None if findings is None else findings.counts["error"],
            "warnings": None if findings is None else findings.counts["warning"],
        }

    @property
    def is_clean(self) -> bool:
        """Whether there is neither damage nor a finding that is more than a note."""
        return not self.damaged_places and not (isinstance(self.findings, FirstFindings) and not self.findings.is_clean)


@dataclass(frozen=True, slots=True)
class Growth:
    """How fast the log grows, in bytes a day: over the whole log, and over its last day if it is longer."""

    whole: float
    recent: float | None

    @property
    def latest(self) -> float:
        """The pace for a forecast."""
        return self.whole if self.recent is None else self.recent


class Expiry(NamedTuple):
    """The segments that a broker would delete by age. `next`: when the oldest of the others expires; None if it is the newest."""

    segments: int
    bytes: int
    next: int | None


def settings_of(files: StoreFiles, now: Instant | None, time_zone: str, disk_free: int | str | None, **others: Any) -> ReportSettings:
    """The settings of a report; `others`: those that need no look at the store."""
    zone = moment_zone(text("time_zone", time_zone))
    moment = time.time_ns() // 1000 if now is None else instant("now", now, zone)
    assert moment is not None
    free = None if disk_free is None else size("disk_free", disk_free, 0)
    # A given free space is that of another disk: the store is a copy.
    disk = disk_of((files,)) if free is None else None
    free = free if disk is None else disk.free
    return ReportSettings(moment, zone, time_zone, free, disk, **others)


def gather(files: StoreFiles, settings: ReportSettings) -> Facts:
    """Read the store. The log is read once, and of it once more what waits, is undecided or dead; with `verify`, all of it twice.

    What a summary covers is not read, but for messages in batches and those that wait, are undecided or dead.
    """
    files = replace(past_failures(files), reserved_hours=settings.reserved)
    tables = Tables(files, settings.jobs, settings.options, settings.progress)
    log = read_log(tables, settings.now, settings.shift, settings.summary)
    planning = MessageOptions(**LENIENT, **settings.options).planning()
    request = TableRequest((files,), planning, seen={files.uri: log.seen.nothing})  # so the end is not searched again
    missing = (*missing_in(request), *lost_of(request))
    return Facts(
        settings,
        files.uri,
        files.segments,
        missing,
        usage_of((files,)),
        log,
        identity_of(files, settings.configured)._replace(host=log.host),
        _deleted(log, DeletedInAll((files,))),
        attempt(read_lag, tables),
        attempt(partial(read_pending, now=settings.now, seen=log.seen, is_damaged=bool(len(log.damage) or missing)), tables),
        attempt(partial(read_dead, seen=log.seen), tables),
        attempt(read_findings, tables) if settings.verify else None,
        older_of(queues := attempt(look_at_all_queues, tables)),
        attempt(partial(_start, settings=settings, end=request.ends[files.uri].offset, damage=log.damage, queues=queues), tables),
    )


def _start(tables: Tables, settings: ReportSettings, end: int, damage: Damages, queues: Sequence[Sample] | Problem) -> Start | Problem:
    if isinstance(queues, Problem):
        return queues
    given: dict[str, Any] = {"samples": queues, "now": settings.now // 1000, "reads_log": False}
    return answer_for(tables.files, end, settings.reserved, settings.options.get("max_read_rate"), damage, **given)


def _deleted(log: LogFacts, deleted: DeletedInAll) -> DeletedInLog:
    topics = log.topics.table()
    batches = () if topics is None else topics.to_batches(1000)
    rows = [row for batch in batches for row in batch.to_pylist() if deleted.has(row["topic"])]
    messages, size = (sum(row[each] for row in rows) for each in ("messages", "bytes"))
    return DeletedInLog(tuple(row["topic"] for row in rows), messages, size)


def pace_of(log: LogFacts) -> Growth | None:
    """How fast the log grows; None if it spans less than an hour."""
    if log.first is None or log.last is None or log.last - log.first < HOUR:
        return None
    span = log.last - log.first
    whole = log.segments.totals()["bytes"] * DAY / span
    has_recent = span > DAY and log.times.width <= HOUR
    return Growth(whole, float(log.times.since(log.last - DAY)) if has_recent else None)


def expiry_of(facts: Facts) -> Expiry | None:
    """What has expired, by the last store times of segments; None if none is known. A broker never deletes the newest segment."""
    rows = facts.log.segments.table()
    lasts = {row["segment"]: row["last"] for row in rows.to_pylist()} if rows is not None else {}
    ends: list[int] = []
    for segment in reversed(facts.segments):
        if last := lasts.get(segment.name):
            ends.append(last + facts.settings.reserved * HOUR)
        elif ends:  # without a time, but not younger than the next. At the end of the log: not in use yet
            ends.append(ends[-1])
    if not ends:
        return None
    ends = ends[:0:-1]  # from the oldest, without the newest
    count = next((number for number, end in enumerate(ends) if end > facts.settings.now), len(ends))
    size = sum(segment.size for segment in facts.segments[:count])
    return Expiry(count, size, ends[count] if count < len(ends) else None)
