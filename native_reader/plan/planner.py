"""Plans a read: finds the end of each log, uses index, queues and store times, and makes the splits.

A read of the first rows is planned without the end of the log: from the part that is surely before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from native_reader.log.runs import known_extent
from native_reader.log.tail import ALL, AVAILABLE
from native_reader.plan.beside import compared_sides
from native_reader.plan.ends import find_ends
from native_reader.plan.estimate import AccessPath, choose_access
from native_reader.plan.keys import BY_KEY, look_up_keys, may_use_index
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.plan import Plan, StoreRead, make_plan, whole_reads
from native_reader.plan.planning import Planning
from native_reader.plan.summarized import NOT_SUMMARIZED, Summarized, facts_of_segment, summarized
from native_reader.plan.times import Times, times_of
from native_reader.plan.ways import NOT_SEEN, SCAN, PlacesOfStores
from native_reader.predicate.outcomes import may_be_true, mentions
from native_reader.predicate.tree import Column, Compare, Not, Or, Predicate, all_of
from native_reader.storage.protocol import map_stores
from native_reader.storage.store import StoreFiles
from native_reader.tuning import TUNING

Ranges = Mapping[str, tuple[int, int]]
"""By store URI: two boundaries of its log. Only the range between them is read."""


def plan_read(
    stores: Sequence[StoreFiles],
    predicate: Predicate,
    planning: Planning,
    ranges: Ranges | None = None,
    seen: PlacesOfStores = NOT_SEEN,
) -> Plan:
    """The plan of one read. Planning reads only heads of segments, queues and index files.

    `seen`: where an earlier pass saw everything that the read may want.
    """
    if ranges is None:
        reads = whole_reads(stores, find_ends(stores, planning, seen))
    else:
        reads = [StoreRead(store, stop, start) for store in stores if store.uri in ranges for start, stop in [ranges[store.uri]]]
    return plan_reads(reads, predicate, planning, seen)


def plan_reads(reads: Sequence[StoreRead], predicate: Predicate, planning: Planning, seen: PlacesOfStores = NOT_SEEN) -> Plan:
    """Plan the reads of several logs when only their ends are known."""

    def prepared_of(read: StoreRead) -> StoreRead:
        return replace(read, places=seen[read.store.uri]) if read.store.uri in seen else _prepared(read, predicate, planning)

    prepared = map_stores(prepared_of, reads, [read.store.uri for read in reads])
    return make_plan(prepared, predicate, planning)


def _prepared(read: StoreRead, predicate: Predicate, planning: Planning) -> StoreRead:
    """The read of one store, with what its index, queues and store times say."""
    store, access = read.store, planning.access
    if read.tier is not None:
        is_timed = access != SCAN and mentions(predicate, "store_timestamp")
        return replace(read, times=_times(store, read.end, predicate, planning) if is_timed else Times())
    if read.start is not None and read.end - read.start < TUNING.small_range:
        access = SCAN  # a small range, as in most stream batches, is faster to scan than to look up
    covered = summarized(store, predicate, planning, read.end) if read.start is None else NOT_SUMMARIZED
    if covered.segments and not _left(read, covered, predicate):
        return replace(read, summarized=covered)
    # Use queues and index for the whole log, even if only a part of it is read.
    lookup = look_up_keys(store, predicate, planning, access, read.end)
    columns = None if planning.tiered else planning.returned  # the tier is asked for what the log does not have
    path = AccessPath(why=BY_KEY) if lookup.is_sufficient else choose_access(store, lookup.predicate, access, read.end, columns)
    if read.start is not None:
        inside = tuple(segment for segment in store.segments if segment.base < read.end and read.start < segment.end)
        store = replace(store, segments=inside)
    # The head of a record can have a wrong time, so access=scan does not use store times.
    is_timed = planning.access != SCAN and mentions(predicate, "store_timestamp")
    times = _times(store, read.end, predicate, planning) if is_timed else Times()
    is_compared = planning.compares and read.start is None  # a range is of a stream, and queues are behind a log that grows
    sides = compared_sides(store, read.end, read.stale, planning) if is_compared else None
    return replace(read, store=store, path=path, lookup=lookup, times=times, sides=sides, summarized=covered)


def _left(read: StoreRead, covered: Summarized, predicate: Predicate) -> bool:
    """Whether rows may be where the summary does not cover the log."""
    others = (segment for segment in read.store.segments if segment.base < read.end and segment.base not in covered.segments)
    return any(may_be_true(predicate, facts_of_segment(read.store.uri, segment)) for segment in others)


def _times(store: StoreFiles, end: int, predicate: Predicate, planning: Planning) -> Times:
    written = [segment for segment in store.segments if segment.base < end]
    # A user who allows no cuts inside a segment (large max_partition_bytes) gets none here either.
    cut = any(segment.size > planning.max_partition_bytes for segment in written)
    return times_of(written, end, predicate, tolerance=planning.time_skew_tolerance, cut=cut, queue=store.consume_queue)


class Opening(NamedTuple):
    """A read in two steps: the plan of its first rows, and the predicate of all others, which follow them."""

    plan: Plan
    rest: Predicate


def plan_opening(stores: Sequence[StoreFiles], predicate: Predicate, planning: Planning) -> Opening | None:
    """The opening of a read; None if its first rows may be anywhere, or if how far the log goes is not known without its end."""
    if not stores or planning.compares or planning.tail not in (AVAILABLE, ALL) or may_use_index(predicate):
        return None
    first = stores[0]
    until = known_extent(first, planning.max_record_bytes, past_unreadable=planning.lenient)
    # In a log of one segment, the first bytes rarely have messages of the wanted time.
    if until is None or (until < first.segments[0].end and mentions(predicate, "store_timestamp")):
        return None
    plan = plan_reads(whole_reads((first,), {first.uri: CheckedEnd(until)}), predicate, planning)
    elsewhere = Not(Compare(Column("store"), "=", first.uri))
    return Opening(plan, all_of((predicate, Or((elsewhere, Compare(Column("physical_offset"), ">=", until))))))
