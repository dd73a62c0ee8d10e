"""`findings`: one row for each kind and place of inconsistency in a store. What the codes mean: `verify/codes.py`.

The parts of a check are independent, and small enough to be sent to other machines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

import pyarrow as pa

from native_reader.account.runs import Runs
from native_reader.broker.tier import TieredQueue, tier_of
from native_reader.broker.unread import TIERED, unread_parts
from native_reader.columns.projection import Projection
from native_reader.log.dledger import dledger_segments
from native_reader.log.misnamed import under_right_names
from native_reader.log.recovery import oldest_begins
from native_reader.plan.beside import Sides, sides_of
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.plan import StoreRead, whole_reads
from native_reader.plan.planning import Planning
from native_reader.sentences import Said
from native_reader.sides.index import IndexFile, index_files
from native_reader.sides.queues import topics_in
from native_reader.storage.rocksdb_queues import why_unreadable
from native_reader.storage.store import StoreFiles, past_failures
from native_reader.tables.table import Table, TableRequest
from native_reader.verify.chains import check_file
from native_reader.verify.findings import COLUMNS, Findings, by_topic
from native_reader.verify.log import LogPart, check_segment
from native_reader.verify.queue_files import QueuePart, check_queues, has_other_settings
from native_reader.verify.removed import begins_of, most_blank, ran_too_short
from native_reader.verify.sides import QueueNumbering
from native_reader.verify.store import StorePart, check_store
from native_reader.verify.tier import TierPart, check_tier, parts_of_tier


def parts_of_check(request: TableRequest) -> list[VerifyPart]:
    found = [under_right_names(past_failures(store)) for store in request.stores]
    stores = tuple(each.files for each in found)
    misnamed = frozenset[str]().union(*(each.misnamed for each in found))
    read = replace(request, stores=stores)
    return plan_parts(stores, read.ends, read.planning, misnamed)


def checked(part: VerifyPart, projection: Projection, runs: Runs) -> Findings:
    """The findings of one part. `runs`: gets the states of its messages."""
    findings = Findings()
    match part:
        case StorePart():
            check_store(part, findings, runs)
        case LogPart():
            check_segment(part, projection, findings, runs)
        case QueuePart():
            check_queues(part, findings, runs)
        case IndexPart():
            check_file(part.file, part.sides, findings, newest=part.newest)
        case TierPart():
            check_tier(part, projection, findings, runs)
        case _:
            assert_never(part)
    return findings


def _batches(part: VerifyPart, projection: Projection) -> Iterator[pa.RecordBatch]:
    if (batch := checked(part, projection, Runs()).batch()) is not None:
        yield batch


FINDINGS = Table(
    "findings",
    COLUMNS,
    parts_of_check,
    batches=_batches,
    options=("max_hash_slot_num", "time_skew_tolerance", "tiered", "tiered_store_file_path"),
    merged=by_topic,
)


_TOPICS_AT_ONCE = 32


class IndexPart(NamedTuple):
    """One index file. `newest`: brokers make it before its first entry."""

    sides: Sides
    file: IndexFile
    newest: bool

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return self.file.size


VerifyPart = StorePart | LogPart | QueuePart | IndexPart | TierPart


def plan_parts(
    stores: Sequence[StoreFiles], ends: Mapping[str, CheckedEnd], planning: Planning, misnamed: Collection[str] = ()
) -> list[VerifyPart]:
    """The parts of a check of these stores. `misnamed`: the URIs of segments under wrong names."""
    return [part for read in whole_reads(stores, ends) for part in _parts_of(read, ends[read.store.uri], planning, misnamed)]


def _parts_of(read: StoreRead, end: CheckedEnd, planning: Planning, misnamed: Collection[str]) -> Iterator[VerifyPart]:
    store, segments = read.store, read.store.segments
    sides = sides_of(store, end.offset, end.stale, planning)
    lost = None
    if end.lost is not None and end.lost.why.kind != "not opened":  # such a file has a finding of its own
        lost = ("log-lost" if end.lost.is_loss else "log-short", end.lost.start, end.lost.what_and_why)
    gaps = tuple(read.missing())
    unread = [why for database in store.databases if (why := why_unreadable(database)) is not None]
    unread += [] if sides.directories else [Said("no queue checked")]
    has_queues = bool(store.databases or store.queues)
    begins, queues = oldest_begins(store), QueueNumbering(sides, store)
    is_removed = ran_too_short(store, begins_of(queues.all), end.offset) is not None
    blanks = {gap.start: most_blank(store, gap.start, gap.stop) for gap in gaps if gap.back is None}
    removed = store.begins if is_removed else 0
    yield StorePart(
        sides,
        lost,
        gaps,
        end.stale,
        unread[0] if unread else None,
        has_queues,
        blanks,
        tuple(each for each in unread_parts(store) if each.what != TIERED or not planning.tiered),
        removed,
        dledger_segments(store),
    )
    for number, segment in enumerate(segments):
        split = read.whole(segment)
        after = segments[number + 1] if number + 1 < len(segments) and segment.end < read.end else None
        yield LogPart(sides, queues, split, segment.base >= begins, segment.base < read.end <= segment.end, after, segment.uri in misnamed)
    topics = tuple(topics_in(sides.directories, light=True))
    is_other, of_tier = has_other_settings(topics, store.config), parts_of_tier(store, sides, planning) if planning.tiered else []
    tiered: Mapping[tuple[str, int], TieredQueue] = {each.name: own for each in of_tier if (own := each.tiered()) is not None}
    if not planning.tiered and (tier := tier_of(store.uri, store.config)) is not None:
        tiered = tier.queues or {}
    for first in range(0, len(topics), _TOPICS_AT_ONCE):
        ranges = tuple((gap.start, gap.stop, gap.back is not None) for gap in gaps)
        some = topics[first : first + _TOPICS_AT_ONCE]
        names = {topic.name for topic in some}
        of_topics = {queue: each for queue, each in tiered.items() if queue[0] in names}
        yield QueuePart(sides, some, ranges, is_removed, is_other, of_topics, planning.tiered)
    yield from of_tier
    files = index_files(store.index, planning.max_hash_slot_num)
    for file in files:
        yield IndexPart(sides, file, file is files[-1])
