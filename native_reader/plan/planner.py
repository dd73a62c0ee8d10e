"""Plans a read: finds the end of each log, uses index, queues and store times, and makes the splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from native_reader.plan.ends import Ends, ends_of
from native_reader.plan.estimate import SCAN, Estimate, estimate
from native_reader.plan.keys import BY_KEY, Located, located
from native_reader.plan.plan import Plan, plan
from native_reader.plan.planning import Planning
from native_reader.plan.times import Times, times_of
from native_reader.predicate.outcomes import mentions
from native_reader.predicate.tree import Predicate
from native_reader.storage.store import StoreFiles

_SOON_READ = 8 << 20

Ranges = Mapping[str, tuple[int, int]]
"""By store URI: two boundaries of its log. Only the range between them is read."""


def planned(stores: Sequence[StoreFiles], predicate: Predicate, how: Planning, ranges: Ranges | None = None) -> Plan:
    """The plan of one read. Planning reads only heads of segments, queues and index files."""
    ends = _ends(stores, how, ranges)
    # Use queues and index for the whole log, even if only a part of it is read.
    asked = [store for store in stores if store.uri in ends.offsets]
    lookups, estimates = dict[str, Located](), dict[str, Estimate]()
    for store in asked:
        access, end = _access_to(store, how, ranges), ends.offsets[store.uri]
        found = lookups[store.uri] = located(store, predicate, access, end, slots=how.index_slots, max_record_bytes=how.max_record_bytes)
        estimates[store.uri] = Estimate(why=BY_KEY) if found.is_complete else estimate(store, found.predicate, access, end)
    if ranges is not None:
        stores = [_within(store, ranges[store.uri]) for store in stores if store.uri in ranges]
    # The head of a record can have a wrong time, so access=scan does not use store times.
    timed = stores if how.access != SCAN and mentions(predicate, "store_timestamp") else ()
    return plan(
        stores,
        ends.offsets,
        predicate,
        max_partition_bytes=how.partition_bytes,
        min_partitions=how.min_partitions,
        fail_on_data_loss=how.refuses_loss,
        times={store.uri: _times(store, ends.offsets[store.uri], predicate, how) for store in timed},
        estimates=estimates,
        lookups=lookups,
        starts=None if ranges is None else {uri: start for uri, (start, _) in ranges.items()},
        stale=ends.stale,
    )


def _ends(stores: Sequence[StoreFiles], how: Planning, ranges: Ranges | None) -> Ends:
    if ranges is not None:
        return Ends({uri: stop for uri, (_, stop) in ranges.items()}, {}, {})
    return ends_of(stores, how)


def _access_to(store: StoreFiles, how: Planning, ranges: Ranges | None) -> str:
    """The access path. A small range, as in most stream batches, is faster to scan than to look up."""
    start, stop = (0, _SOON_READ) if ranges is None else ranges[store.uri]
    return SCAN if stop - start < _SOON_READ else how.access


def _within(store: StoreFiles, span: tuple[int, int]) -> StoreFiles:
    """The store with only the segments in that range."""
    start, stop = span
    return replace(store, segments=tuple(each for each in store.segments if each.base < stop and start < each.end))


def _times(store: StoreFiles, end: int, predicate: Predicate, how: Planning) -> Times:
    written = [segment for segment in store.segments if segment.base < end]
    # A user who allows no cuts inside a segment (large max_partition_bytes) gets none here either.
    cut = any(segment.size > how.partition_bytes for segment in written)
    return times_of(written, end, predicate, tolerance=how.clock_skew, cut=cut, queue=store.consume_queue)
