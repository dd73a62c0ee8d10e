"""The decisions of a stream: where it begins, where each batch ends, what a batch reads now, and what counts as lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TypeVar

from native_reader.errors import DataLoss, Line, option_name
from native_reader.log.boundary import (
    Boundaries,
    Boundary,
    Limits,
    boundary_after,
    boundary_before,
    closing_blank,
    readable_until,
    still_holds,
)
from native_reader.log.follow import Following
from native_reader.plan.lost import gap_in
from native_reader.plan.plan import Plan
from native_reader.plan.planner import plan_read
from native_reader.plan.planning import Planning
from native_reader.plan.unknown_names import doubts_of
from native_reader.predicate.tree import Predicate
from native_reader.sentences import Said, say
from native_reader.storage.store import StoreFiles
from native_reader.stream.begin import Start, can_resume, expired, is_only_blank, resume, rewritten
from native_reader.stream.offset import Batch, Offset
from native_reader.stream.portion import BatchLimit, Unread, portion
from native_reader.tuning import TUNING

Result = TypeVar("Result")
_NEW_CHECKPOINT = Said("use new checkpoint")


class Stream:
    """One run of a stream over the logs of all stores.

    `announce` gets each warning once, as one line. `start_over`: how, for errors.
    """

    def __init__(
        self,
        list_stores: Callable[[], Iterable[StoreFiles]],
        predicate: Predicate,
        planning: Planning,
        start: Start,
        announce: Callable[[Line], object],
        *,
        start_over: Said = _NEW_CHECKPOINT,
    ) -> None:
        self._predicate, self._planning, self._start, self._announce = predicate, planning, start, announce
        self._start_over = start_over
        self._limits = Limits(planning.max_record_bytes, past_unreadable=planning.lenient)
        self._logs = Following(list_stores, self._limits, planning.tail)
        self._seen: tuple[float, Boundaries] | None = None
        self._target: Boundaries | None = None
        self._initial: Offset | None = None
        self._idle: tuple[Offset, Boundaries, BatchLimit] | None = None
        self._announced: set[str] = set()
        self._has_batches = False

    def first_offset(self) -> Offset:
        """Where a new stream begins; the same at every call."""
        if self._initial is None:
            begins = self._retry_once(lambda: {uri: self._begin(uri, end) for uri, end in self._allowed_ends().items()})
            self._initial = {uri: Batch(begin.offset, begin) for uri, begin in begins.items()}
        return self._initial

    def stop_at_current_ends(self) -> None:
        """Read no further than where the logs end now."""
        self._target = dict(self._retry_once(self._current_ends))

    def next_offset(self, start: Offset, limit: BatchLimit) -> Offset:
        """The end of the batch that begins at `start`; `start` itself if there is nothing new."""
        return self._retry_once(lambda: self._next_offset(start, limit))

    def plan(self, offset: Offset) -> Plan:
        """The plan of the batch that ends at this offset, which holds its start too."""
        batches = {uri: batch for uri, batch in offset.items() if batch.start < batch.end.offset}
        return self._retry_once(lambda: self._plan(batches))

    def blanks(self, offset: Offset) -> dict[str, int]:
        """By store: the end of the segment in which the batch ends, if only the blank that closes the segment follows there now."""
        ends = {uri: closing_blank(self._logs.stores[uri], batch.end) for uri, batch in offset.items() if uri in self._logs.stores}
        return {uri: end for uri, end in ends.items() if end is not None}

    def past_blanks(self, offset: Offset, blanks: Mapping[str, int]) -> Offset:
        """The offset, after those of its blanks that have expired. `blanks`: as they were seen when the batch ended.

        A broker (all versions) that recovers and finds no segment after a blank writes over it, so this is announced.
        """
        moved = dict(offset)
        for uri, stop in blanks.items():
            batch, store = offset.get(uri), self._logs.stores.get(uri)
            if batch is None or store is None or not batch.end.offset < stop <= store.min_offset:
                continue
            moved[uri] = batch._replace(end=batch.end._replace(offset=stop))
            if not is_only_blank(store, batch.end.offset):
                self._announce_once(say("blank expired", uri=uri, start=batch.end.offset, stop=stop))
        return moved

    @property
    def uris(self) -> list[str]:
        """The stores that were found."""
        self._retry_once(self._current_ends)
        return list(self._logs.stores)

    def absent(self, offset: Offset) -> list[str]:
        """The stores of an offset that are not among those found, not even at another path."""
        found = set(self.uris)
        others = {uri: store for uri, store in self._logs.stores.items() if uri not in offset}
        return [uri for uri, batch in offset.items() if uri not in found and _holder(others, batch.end) is None]

    @property
    def seen_ends(self) -> Boundaries | None:
        """Where the logs ended at the last look; None before the first one."""
        return None if self._seen is None else self._seen[1]

    def close(self) -> None:
        """Close all files."""
        self._logs.close()

    # The logs

    def _retry_once(self, work: Callable[[], Result]) -> Result:
        """Segments appear and expire: if data seems lost, list the files again and retry once."""
        try:
            return work()
        except DataLoss:
            self._logs.list()
            self._seen = None
            return work()

    def _store(self, uri: str) -> StoreFiles:
        store = self._logs.stores.get(uri)
        if store is None:
            raise DataLoss(say("store removed", uri=uri))
        return store

    def _current_ends(self) -> Boundaries:
        """Where the logs end, at most `look_every` seconds ago."""
        now = time.monotonic()
        if self._seen is None or now - self._seen[0] >= TUNING.look_every or self._logs.has_news():
            self._seen = now, self._logs.look()
        return self._seen[1]

    def _allowed_ends(self) -> Boundaries:
        """Where the stream may read to."""
        now = self._current_ends()
        if self._target is None:
            return now
        # A log that was truncated meanwhile never reaches its target.
        self._target = {
            uri: end if end.last is None or still_holds(self._store(uri), end) else now[uri]
            for uri, end in self._target.items()
            if uri in now
        }
        return self._target

    # Where a batch begins and ends

    def _begin(self, uri: str, end: Boundary) -> Boundary:
        return self._start.begin_in(self._store(uri), end, self._predicate, self._planning.time_skew_tolerance, self._limits)

    def _next_offset(self, start: Offset, limit: BatchLimit) -> Offset:
        ends = self._allowed_ends()
        self._announce_warnings()
        if self._target is not None:  # no more records will come
            limit = limit._replace(least_records=None)
        if self._idle == (start, ends, limit):
            return start
        begins, absent = self._begins(start, ends)
        unread = {uri: Unread(self._store(uri), begin, max(begin, ends[uri], key=attrgetter("offset"))) for uri, begin in begins.items()}
        stops = portion(unread, limit, self._limits)
        # After a loss, store the new position at once. Otherwise the next records would count as lost too.
        has_moved = any(begin != start[uri].end for uri, begin in begins.items() if uri in start)
        if not has_moved and all(stops[uri].offset == begin.offset for uri, begin in begins.items()):
            self._idle = start, dict(ends), limit
            return start
        kept = {uri: Batch(batch.end.offset, batch.end) for uri, batch in absent.items()}
        return kept | {uri: Batch(begin.offset, stops[uri]) for uri, begin in begins.items()}

    def _begins(self, known: Offset, ends: Boundaries) -> tuple[Boundaries, Offset]:
        """Where the next batch begins in each log; and the batches of stores that are absent now."""
        old_uris, begins = self._moved(known), Boundaries()
        for uri, end in ends.items():
            batch = known.get(old_uris.get(uri, uri))
            begins[uri] = self._resumed(uri, Boundary(0) if batch is None else batch.end, end)
        absent = {uri: batch for uri, batch in known.items() if uri not in begins and uri not in old_uris.values()}
        for uri, batch in absent.items():
            if batch.end.last is not None and uri not in self._current_ends():
                self._report_loss(say("store gone", uri=uri, offset=batch.end.last.offset))
        return begins, absent

    def _resumed(self, uri: str, at: Boundary, end: Boundary) -> Boundary:
        if not can_resume(self._store(uri), at, end):
            self._logs.list()  # segments may have appeared or expired since
        begin, loss = resume(self._store(uri), at, end, self._limits)
        if loss is not None:
            self._report_loss(loss)
        return begin

    def _moved(self, known: Offset) -> dict[str, str]:
        """The old URI of each store that has moved, by its new one."""
        stores, old_uris = self._logs.stores, dict[str, str]()
        for uri, batch in known.items():
            if uri in stores:
                continue
            candidates = {each: store for each, store in stores.items() if each not in known and each not in old_uris}
            if (new_uri := _holder(candidates, batch.end)) is not None:
                old_uris[new_uri] = uri
                self._announce_once(say("store moved", uri=uri, now=new_uri))
        return old_uris

    # What a batch reads

    def _plan(self, batches: Offset) -> Plan:
        ranges = self._ranges(batches)
        plan = plan_read([self._store(uri) for uri in ranges], self._predicate, self._planning, ranges)
        packed = (store for store in map(self._store, ranges) if store.packed_from is not None)
        for gap in (*plan.gaps, *(gap_in(store, store.begins, store.min_offset) for store in packed)):
            where: dict[str, int | str] = {"store": gap.store, "start": gap.start, "stop": gap.stop, "bytes": gap.stop - gap.start}
            self._announce_once(say("offsets in no file", **where) if gap.back is None else say("offsets in stray", **where, back=gap.back))
        return plan

    def _ranges(self, batches: Offset) -> dict[str, tuple[int, int]]:
        """The range of each store in a batch, after a check that the data has not changed since the batch was made."""
        ranges: dict[str, tuple[int, int]] = {}
        for uri, batch in batches.items():
            uri_now = self._current_uri(uri, batch.end)
            if uri_now is None:
                self._report_loss(say("store gone before", uri=uri, start=batch.start, stop=batch.end.offset))
            else:
                ranges[uri_now] = self._range(self._store(uri_now), batch)
        return {uri: (start, stop) for uri, (start, stop) in ranges.items() if start < stop}

    def _range(self, store: StoreFiles, batch: Batch) -> tuple[int, int]:
        first, end = store.min_offset, batch.end
        if batch.start < first and not is_only_blank(store, batch.start):
            self._report_loss(expired(store, batch.start, min(first, end.offset)))
        start = max(batch.start, first)
        if end.last is None or end.last.offset < first:
            return start, end.offset
        if (stop := readable_until(store, end)) is not None:
            return start, stop
        self._report_loss(rewritten(store, end))
        return self._remaining(store, start, min(end.offset, self._logs.look()[store.uri].offset))

    def _remaining(self, store: StoreFiles, start: int, stop: int) -> tuple[int, int]:
        """The records of a rewritten log in that range of offsets."""
        segment = store.segment_at(start)
        if segment is None or start >= stop:
            return start, start
        begin = boundary_after(store, Boundary(segment.base), start, self._limits) if start > segment.base else Boundary(start)
        return begin.offset, boundary_before(store, begin, stop, self._limits).offset if begin.offset < stop else begin.offset

    def _current_uri(self, uri: str, end: Boundary) -> str | None:
        """The URI of a batch's store, even if the store has moved; None if it is gone."""
        for _ in range(2):
            stores, last = self._logs.stores, end.last
            if uri in stores and (last is None or last.offset < stores[uri].min_offset or still_holds(stores[uri], end)):
                return uri
            if new_uri := _holder(stores, end):
                return new_uri
            self._logs.list()  # segments may have appeared or expired since
        return uri if uri in self._logs.stores else None

    # Messages to the user

    def _report_loss(self, loss: Said) -> None:
        """Report messages that the stream should have read but cannot."""
        if self._planning.fail_on_data_loss:
            raise DataLoss(say("stream lost", text=loss, start_over=self._start_over))
        self._announce_once(say("data loss", what=loss), is_loss=True)

    def _announce_once(self, said: Said, *, is_loss: bool = False, is_unknown: bool = False) -> None:
        line = Line(said, is_loss=is_loss, is_unknown=is_unknown)
        if line not in self._announced:
            self._announced.add(line)
            self._announce(line)

    def _announce_warnings(self) -> None:
        """Once per run: doubts about the conditions, and that an old stream continues."""
        if self._has_batches:
            return
        self._has_batches = True
        for doubt in doubts_of(tuple(self._logs.stores.values()), self._predicate):
            if doubt.said is not None:
                self._announce_once(doubt.said, is_unknown=True)
        if self._initial is None and self._start.position is not None:
            self._announce_once(say("query continues", option=option_name("starting_offsets"), position=str(self._start.position)))


def _holder(stores: dict[str, StoreFiles], at: Boundary) -> str | None:
    """The URI of a store that has the record before that boundary."""
    return next((uri for uri, store in stores.items() if still_holds(store, at)), None)
