"""Where logs end now, checked repeatedly while brokers, or copies, extend them.

Each look continues from the last one, so it costs only what is new. A record counts by the same rule as for a single read
(`log.tail`). An obstacle such as a hole with records after it stops a look. So the end of the log is also searched from
scratch now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from native_reader.errors import DataLoss
from native_reader.layout.record import BLANK_HEAD
from native_reader.log.boundary import (
    Boundaries,
    Boundary,
    Limits,
    boundary_after_record,
    boundary_before,
    fingerprint_at,
    is_continued,
    still_holds,
    window_of,
)
from native_reader.log.certain import has_queue_entry
from native_reader.log.tail import end_in_checkpoint, has_successor, is_fully_written, look_at_end
from native_reader.records.sync import places_of
from native_reader.records.walk import EndWalk, is_blank
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.storage.store import Segment, StoreFiles, is_live
from native_reader.storage.window import Window
from native_reader.tuning import TUNING

_STEP = 4 << 20


class Follower:
    """The end of one store's log. `end` moves back only if the log does."""

    def __init__(self, store: StoreFiles, limits: Limits, tail: str) -> None:
        self.store, self._limits, self._tail = store, limits, tail
        self._newest: tuple[int, float] | None = None
        """Offset of the newest record that has no consume queue entry yet, and since when."""
        self.is_stale = False
        """Whether a file was deleted or replaced during a look; the next look needs a new list of files."""
        self.end = self._search()
        self._file: StoredFile | None = None
        """The last segment, kept open so that `has_news` is cheap."""
        self._watched = 0, b""
        """A position in that file, and its bytes at the last look."""

    def has_news(self) -> bool:
        """Whether something was written after the end since the last look. Cheap, but may miss changes."""
        position, seen = self._watched
        try:
            return self._file is not None and _bytes_at(self._file, position) != seen
        except OSError:  # the next look reports it
            return False

    def look(self) -> Boundary:
        """Where the log ends now."""
        storage_of(self.store.uri).look_again()
        try:
            if self.end.last is not None and not still_holds(self.store, self.end):
                self.end = self._search()
            bound = end_in_checkpoint(self.store, self._tail)
            while (bound is None or self.end.offset < bound) and self._advance(bound):
                pass
            self._watch()
        except (DataLoss, FileNotFoundError):
            self.is_stale = True
        return self.end

    def close(self) -> None:
        """Close the watched file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _watch(self) -> None:
        """Remember the bytes at the end of the log, and keep that file open."""
        segment = self._segment_now()
        if segment is None:
            self.close()
        else:
            position = max(0, self.end.offset - segment.base)
            self._watched = position, _bytes_at(self._opened(segment), position)

    def _opened(self, segment: Segment) -> StoredFile:
        if self._file is None or (self._file.uri, self._file.identity()) != (segment.uri, segment.identity):
            self.close()
            self._file = storage_of(segment.uri).open(segment.uri)
        return self._file

    def look_from_scratch(self) -> Boundary:
        """Like `look`, but also finds records after an obstacle that stops a look."""
        try:
            before, end = self.look(), self._search()
            if end.offset > before.offset and self.look() == before:
                self.end = end
        except DataLoss:
            self.is_stale = True
        return self.end

    def _search(self) -> Boundary:
        """Search for the boundary at the end of the log, independently of earlier looks."""
        store, limits = self.store, self._limits
        start = Boundary(store.min_offset)
        end = look_at_end(store, limits.max_record_bytes, 0, past_unreadable=limits.past_unreadable, tail=self._tail).offset
        return boundary_before(store, start, end, limits) if end > start.offset else start

    def _advance(self, bound: int | None) -> bool:
        """Advance a few MiB, at most to the end of a segment; returns whether there may be more."""
        segment = self._segment_now()
        if segment is None:
            return False
        begin = max(0, self.end.offset - segment.base)
        most = segment.size if bound is None else bound - segment.base
        until = min(segment.size, begin + _STEP, most)
        if not any(_bytes_at(self._opened(segment), begin)):  # nothing is written there yet
            return False
        with window_of(self.store, segment, self._limits) as window:
            if segment.size - begin >= BLANK_HEAD and is_blank(window, begin):
                return self._enter_next_segment(segment)
            reached = self._reached(window, begin, until, most)
            if reached is None or reached.offset <= self.end.offset:
                return False
            self.end = reached
            return reached.offset >= segment.base + until or is_blank(window, reached.offset - segment.base)

    def _enter_next_segment(self, segment: Segment) -> bool:
        """Advance to the next segment, if something is written there already."""
        self._next_to(segment)
        if not is_continued(self.store, segment):
            return False
        self.end = Boundary(segment.end, self.end.last)
        return True

    def _reached(self, window: Window, begin: int, until: int, most: int) -> Boundary | None:
        """The boundary after the last record that counts, of those that start before `until` and end at `most` or before.

        None if there is none, or if the log grew meanwhile and needs another look.
        """
        last = self._last_two(window, begin, until)
        if not last:
            return None
        position, size = last[-1]
        if position + size <= most and self._counts(window, position, size):
            return boundary_after_record(self.store, window, position, size)
        return Boundary(window.segment.base + position, fingerprint_at(window, last[0][0]) if len(last) > 1 else self.end.last)

    def _last_two(self, window: Window, begin: int, until: int) -> list[tuple[int, int]]:
        """Position and size of the last two records in the unbroken chain from `begin`; ignores what comes after a break.

        Old records can follow a break, if a broker truncated the log. Only a fresh search shows whether the log continues there.
        """
        last: list[tuple[int, int]] = []
        reached = begin
        for records in EndWalk(window, begin, until, self._limits.max_record_bytes):
            starts, sizes = places_of(window, records)
            if int(starts[0]) != reached:
                return last
            breaks = np.flatnonzero(starts[1:] != starts[:-1] + sizes[:-1])
            count = int(breaks[0]) + 1 if len(breaks) else len(starts)
            last = [*last, *zip(starts[:count][-2:].tolist(), sizes[:count][-2:].tolist(), strict=True)][-2:]
            reached = sum(last[-1])
            if len(breaks):
                return last
        return last

    def _counts(self, window: Window, position: int, size: int) -> bool:
        """Whether something proves that this record is complete."""
        if size > self._limits.max_record_bytes or has_successor(window, position + size):
            return True
        if has_queue_entry(window, self.store.consume_queue, position):
            return True
        if not is_fully_written(window, position, size, None):
            return False
        if not is_live(self.store.uri):
            return True
        offset, now = window.segment.base + position, time.monotonic()
        if self._newest is None or self._newest[0] != offset:
            self._newest = offset, now
        return now - self._newest[1] >= TUNING.quiet

    def _segment_now(self) -> Segment | None:
        """The segment for the next record, in its current state; None if there is none yet."""
        listed = self.store.segment_at(self.end.offset)
        if listed is None:
            return None
        segment = self._as_it_is_now(listed)
        # Too few bytes for a blank: a broker leaves room for one, but a truncated copy may end here.
        following = self._next_to(segment) if self.end.offset > segment.end - BLANK_HEAD else None
        return following or (segment if self.end.offset < segment.end else None)

    def _as_it_is_now(self, segment: Segment) -> Segment:
        """The segment in its current state: a copy in progress grows, and may replace an earlier one.

        A broker that starts deletes the empty segments after its log, and makes them again.
        """
        if segment.is_packed:  # no broker writes to it, and its entry has another size
            return segment
        entry = storage_of(segment.uri).entry(segment.uri)
        if entry is None or (entry.size, entry.identity) == (segment.size, segment.identity):
            return segment
        changed = replace(segment, size=entry.size, identity=entry.identity)
        self.store = replace(self.store, segments=tuple(changed if each is segment else each for each in self.store.segments))
        return changed

    def _next_to(self, segment: Segment) -> Segment | None:
        """The segment after that one, if it exists by now: its name is known in advance."""
        listed = self.store.segment_at(segment.end)
        if listed is not None and listed.base == segment.end:
            return self._as_it_is_now(listed)
        if self.store.segments[-1].base > segment.base:
            return None
        uri = f"{segment.directory}/{segment.end:020d}"
        entry = storage_of(uri).entry(uri)
        if entry is None or not entry.is_file or not entry.size:
            return None
        following = Segment(segment.end, entry.size, uri, entry.identity, segment.framing)
        self.store = replace(self.store, segments=(*self.store.segments, following))
        return following


class Following:
    """The log ends of all stores at some paths; stores may appear and disappear."""

    def __init__(self, listed: Callable[[], Iterable[StoreFiles]], limits: Limits, tail: str) -> None:
        self._listed, self._limits, self._tail = listed, limits, tail
        self._followers: dict[str, Follower] = {}
        self._next_listing = self._next_search = 0.0

    @property
    def stores(self) -> dict[str, StoreFiles]:
        """The known files of each store, by URI."""
        return {uri: follower.store for uri, follower in self._followers.items()}

    def look(self) -> Boundaries:
        """Where each log ends now."""
        begun = time.monotonic()
        if begun >= self._next_listing or any(follower.is_stale for follower in self._followers.values()):
            self.list()
        if begun >= self._next_search:
            for follower in self._followers.values():
                follower.look_from_scratch()
            self._next_search = time.monotonic() + max(TUNING.search_every, TUNING.rest * (time.monotonic() - begun))
        ends = {uri: follower.look() for uri, follower in self._followers.items()}
        if any(follower.is_stale for follower in self._followers.values()):  # their files are gone, and so their ends
            self.list()
            ends = {uri: follower.look() for uri, follower in self._followers.items()}
        return ends

    def has_news(self) -> bool:
        """Whether something was written since the last look. Cheap, but may miss changes."""
        return any(follower.has_news() for follower in self._followers.values())

    def close(self) -> None:
        """Close all files."""
        for follower in self._followers.values():
            follower.close()

    def list(self) -> None:
        """List the stores and their segments again."""
        begun = time.monotonic()
        listed = {store.uri: store for store in self._listed()}
        if not self._followers:  # new followers search from scratch anyway
            self._next_search = begun + TUNING.search_every
        for uri in self._followers.keys() - listed.keys():
            self._followers[uri].close()
        self._followers = {uri: self._follower(store) for uri, store in listed.items()}
        self._next_listing = time.monotonic() + max(TUNING.list_every, TUNING.rest * (time.monotonic() - begun))

    def _follower(self, store: StoreFiles) -> Follower:
        known = self._followers.get(store.uri)
        if known is None:
            return Follower(store, self._limits, self._tail)
        known.store, known.is_stale = store, False
        return known


def _bytes_at(file: StoredFile, position: int) -> bytes:
    """The first bytes at that position; zeros if nothing is written there."""
    content = bytearray(BLANK_HEAD)
    file.read_into(position, content)
    return bytes(content)
