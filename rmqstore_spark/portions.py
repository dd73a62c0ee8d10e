"""Decides where a batch ends in each log: at a record boundary, within the limits of the options and of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxFiles, ReadMaxRows, ReadMinRows

from native_reader.log.boundary import Boundary, Limits, boundary_before, counted, segment_before
from native_reader.storage.store import StoreFiles
from rmqstore_spark.request import Stream

Ends = dict[str, Boundary]
"""By store URI: a boundary of its log."""


def portion(
    stores: Mapping[str, StoreFiles], begins: Ends, ends: Ends, limit: ReadLimit, *, asked: Stream, limits: Limits, all_in_time: bool
) -> Ends:
    """Where a batch from `begins` ends, at most at `ends`. `all_in_time`: do not wait for ReadMinRows to be reached."""
    stops = {uri: ends[uri] if ends[uri].offset > begin.offset else begin for uri, begin in begins.items()}
    if isinstance(limit, ReadAllAvailable):  # this limit overrides the options
        return stops
    most_bytes, most_records = asked.most_bytes, asked.most_records
    match limit:
        case ReadMaxBytes():
            most_bytes = limit.max_bytes
        case ReadMaxRows():
            most_records = limit.max_rows
        case ReadMaxFiles():
            stops = {uri: _of_files(stores[uri], begins[uri], stop, limit.max_files, limits) for uri, stop in stops.items()}
        case ReadMinRows():
            counts = [counted(stores[uri], begins[uri], limit.min_rows, stop, limits)[1] for uri, stop in stops.items()]
            return stops if all_in_time or sum(counts) >= limit.min_rows else begins
    if most_bytes is not None:
        for uri, share in _shares(begins, stops, most_bytes):
            stops[uri] = _before(stores[uri], begins[uri], stops[uri], begins[uri].offset + share, limits)
    if most_records is not None:
        left = most_records
        for which, uri in enumerate(_by_backlog(begins, stops)):
            share = max(1, left // (len(begins) - which))
            stops[uri], count = counted(stores[uri], begins[uri], share, stops[uri], limits)
            left -= count
    return stops


def _before(store: StoreFiles, begin: Boundary, end: Boundary, target: int, limits: Limits) -> Boundary:
    if target >= end.offset:
        return end
    segment = segment_before(store.segments, target)
    # Without queues every record up to the target is read, so ending the batch at a segment border is cheaper.
    if store.consume_queue is None and segment is not None and target < segment.end and segment.base > (begin.offset + target) // 2:
        target = segment.base
    found = boundary_before(store, begin, target, limits)
    return found if begin.offset < found.offset < end.offset else end


def _of_files(store: StoreFiles, begin: Boundary, end: Boundary, most: int, limits: Limits) -> Boundary:
    behind = [segment.end for segment in store.segments if segment.end > begin.offset]
    return end if len(behind) <= most else _before(store, begin, end, behind[most - 1], limits)


def _by_backlog(begins: Ends, stops: Ends) -> list[str]:
    """Stores with the least to read first, so that others can use the rest of their share."""
    return sorted(begins, key=lambda uri: stops[uri].offset - begins[uri].offset)


def _shares(begins: Ends, stops: Ends, most: int) -> Iterator[tuple[str, int]]:
    """How many bytes to read from each store: equal shares; a store with less leaves the rest to the others."""
    left = most
    for which, uri in enumerate(_by_backlog(begins, stops)):
        share = max(1, left // (len(begins) - which))
        yield uri, share
        left -= min(share, stops[uri].offset - begins[uri].offset)
