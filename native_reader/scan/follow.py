"""Where logs end now, looked at again and again while brokers, or copies, make them longer.

Each look goes on from the last: it costs what is new, and next to nothing where nothing is. A record counts by the same rule
as for one read (`scan.tail`). What such looks cannot pass, like a hole with records behind it, is found by looking at the end
of the log afresh now and then.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from native_reader.errors import DataLoss
from native_reader.layout.record import BLANK_HEAD
from native_reader.scan.boundary import Boundary, Limits, behind, boundary_before, fingerprint_at, is_left, stands, window_of
from native_reader.scan.certain import walk_on
from native_reader.scan.damages import Damages
from native_reader.scan.sync import frame_of, record_size_at
from native_reader.scan.tail import end_of_log, has_successor, is_complete, said_by_checkpoint
from native_reader.scan.walk import is_blank
from native_reader.scan.witness import is_live, is_named
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window

_STEP = 4 << 20
_QUIET = 3.0
"""Seconds for which a live log must stay the same until its newest record counts by its own bytes, where no queue knows it.
Torn records were seen for 15 ms at most."""
_LISTED_EVERY, _AFRESH_EVERY = 1.0, 10.0
_REST = 300
"""So many times as long as it took, a costly look is not taken again."""


class Follower:
    """The end of one store's log. `end` goes back only where the log does."""

    def __init__(self, store: StoreFiles, limits: Limits, tail: str) -> None:
        self.store, self._limits, self._tail = store, limits, tail
        self._newest: tuple[int, float] | None = None
        """Where the newest record lies that waits for its witness, and since when."""
        self.is_stale = False
        """Whether a file went, or was replaced, while it was looked at; the next look needs a new list of them."""
        self.end = self._afresh()
        self._watched: tuple[StoredFile, int, bytes] | None = None

    def has_news(self) -> bool:
        """Whether something was written behind the end since the last look; at next to no cost, and not every news is seen."""
        if self._watched is None:
            return False
        file, position, seen = self._watched
        now = bytearray(BLANK_HEAD)
        try:
            return file.read_into(position, now) > 0 and bytes(now) != seen
        except OSError:  # the next look tells
            return False

    def look(self) -> Boundary:
        """Where the log ends now."""
        try:
            if self.end.last is not None and not stands(self.store, self.end):
                self.end = self._afresh()
            bound = said_by_checkpoint(self.store, self._tail)
            while (bound is None or self.end.offset < bound) and self._goes_on(bound):
                pass
            self._watch()
        except (DataLoss, FileNotFoundError):
            self.is_stale = True
        return self.end

    def close(self) -> None:
        """Let go of the file that is watched."""
        if self._watched is not None:
            self._watched[0].close()
            self._watched = None

    def _watch(self) -> None:
        """Remember what stands where the log ends, and keep that file open."""
        segment = self._segment_now()
        if segment is None:
            self.close()
            return
        position = max(0, self.end.offset - segment.base)
        self._watched = self._opened(segment), position, self._stands_at(segment, position)

    def _stands_at(self, segment: Segment, position: int) -> bytes:
        """So much of it as tells whether anything is written there."""
        found = bytearray(BLANK_HEAD)
        self._opened(segment).read_into(position, found)
        return bytes(found)

    def _opened(self, segment: Segment) -> StoredFile:
        if self._watched is not None and (self._watched[0].uri, self._watched[0].identity()) == (segment.uri, segment.identity):
            return self._watched[0]
        self.close()
        file = storage_of(segment.uri).open(segment.uri)
        self._watched = file, 0, b""
        return file

    def look_afresh(self) -> Boundary:
        """The same, also behind what a look cannot pass."""
        try:
            before, found = self.look(), self._afresh()
            if found.offset > before.offset and self.look() == before:
                self.end = found
        except DataLoss:
            self.is_stale = True
        return self.end

    def _afresh(self) -> Boundary:
        """The boundary at the end of the log, by what stands near it."""
        store, limits = self.store, self._limits
        start = Boundary(store.min_offset)
        end = end_of_log(store, limits.max_record_bytes, 0, past_unreadable=limits.past_unreadable, tail=self._tail)
        return boundary_before(store, start, end, limits) if end > start.offset else start

    def _goes_on(self, bound: int | None) -> bool:
        """A few MiB further, up to the end of a segment at most; whether there may be more."""
        segment = self._segment_now()
        if segment is None:
            return False
        begin = max(0, self.end.offset - segment.base)
        most = segment.size if bound is None else bound - segment.base
        until = min(segment.size, begin + _STEP, most)
        if not any(self._stands_at(segment, begin)):  # nothing is written there yet
            return False
        with window_of(self.store, segment, self._limits) as window:
            if segment.size - begin >= BLANK_HEAD and is_blank(window, begin):
                return self._leaves(segment)
            found = self._reached(window, begin, until, most)
            if found is None or found.offset <= self.end.offset:
                return False
            self.end = found
            return found.offset >= segment.base + until or is_blank(window, found.offset - segment.base)

    def _leaves(self, segment: Segment) -> bool:
        """On to the next segment, if something is written there already."""
        self._next_to(segment)
        if not is_left(self.store, segment):
            return False
        self.end = Boundary(segment.end, self.end.last)
        return True

    def _reached(self, window: Window, begin: int, until: int, most: int) -> Boundary | None:
        """The boundary behind the last record that counts, of those that start before `until` and end at `most` or before.

        None where there is none, or the log grew meanwhile so that another look is needed.
        """
        last = self._chain(window, begin, until)
        if not last:
            return None
        position, size = last[-1]
        if position + size <= most and self._counts(window, position, size):
            return behind(self.store, window, position, size)
        return Boundary(window.segment.base + position, fingerprint_at(window, last[0][0]) if len(last) > 1 else self.end.last)

    def _chain(self, window: Window, begin: int, until: int) -> list[tuple[int, int]]:
        """Position and size of the last two records that follow each other from there; what comes after a break is not looked at.

        Old records can follow a break, which a broker took back: whether the log goes on there, only a look afresh tells.
        """
        last: list[tuple[int, int]] = []
        reached, frame = begin, frame_of(window.segment)

        def over_the_limit(before: int) -> bool:
            """Whether nothing but records over the limit, which the walk passes, lead to that position."""
            nonlocal reached, last
            while reached < before and (size := record_size_at(window, reached) or 0) > self._limits.max_record_bytes:
                last, reached = [*last, (reached, size)][-2:], reached + size
            return reached == before

        for found in walk_on(window, begin, until, self._limits.max_record_bytes):
            if isinstance(found, Damages):
                continue
            starts, sizes = found.starts - frame + window.position, found.sizes + frame
            if int(starts[0]) != reached and not over_the_limit(int(starts[0])):
                return last
            breaks = np.flatnonzero(starts[1:] != starts[:-1] + sizes[:-1])
            count = int(breaks[0]) + 1 if len(breaks) else len(starts)
            last = [*last, *zip(starts[:count][-2:].tolist(), sizes[:count][-2:].tolist(), strict=True)][-2:]
            reached = sum(last[-1])
            if len(breaks):
                return last
        over_the_limit(until)
        return last

    def _counts(self, window: Window, position: int, size: int) -> bool:
        """Whether something proves that this record was written to its end."""
        if size > self._limits.max_record_bytes or has_successor(window, position + size):
            return True
        if is_named(window, self.store.consume_queue, position):
            return True
        if not is_complete(window, position, size, None):
            return False
        if not is_live(self.store.uri):
            return True
        offset, now = window.segment.base + position, time.monotonic()
        if self._newest is None or self._newest[0] != offset:
            self._newest = offset, now
        return now - self._newest[1] >= _QUIET

    def _segment_now(self) -> Segment | None:
        """The segment that holds what comes next, as it is now; None where there is none yet."""
        segments = self.store.segments
        which = bisect_right(segments, self.end.offset, key=lambda segment: segment.base) - 1
        if which < 0:
            return None
        segment = self._as_it_is_now(which)
        # So little is no blank; a broker leaves at least that much, a copy that was cut off may end so.
        following = self._next_to(segment) if self.end.offset > segment.end - BLANK_HEAD else None
        return following or (segment if self.end.offset < segment.end else None)

    def _as_it_is_now(self, which: int) -> Segment:
        """A copy that is being made grows, and may be put in the place of an earlier one."""
        segments = self.store.segments
        segment = segments[which]
        entry = storage_of(segment.uri).entry(segment.uri)
        if entry is None or (entry.size, entry.identity) == (segment.size, segment.identity):
            return segment
        changed = replace(segment, size=entry.size, identity=entry.identity)
        self.store = replace(self.store, segments=(*segments[:which], changed, *segments[which + 1 :]))
        return changed

    def _next_to(self, segment: Segment) -> Segment | None:
        """The segment behind that one, if it is there by now: its name is known before."""
        segments = self.store.segments
        which = bisect_right(segments, segment.base, key=lambda each: each.base)
        if which < len(segments):
            return segments[which] if segments[which].base == segment.end else None
        uri = f"{segment.uri.rpartition('/')[0]}/{segment.end:020d}"
        entry = storage_of(uri).entry(uri)
        if entry is None or not entry.is_file or not entry.size:
            return None
        found = Segment(segment.end, entry.size, uri, entry.identity, segment.framing)
        self.store = replace(self.store, segments=(*segments, found))
        return found


class Following:
    """The ends of the logs of all stores at some paths; stores come and go."""

    def __init__(self, listed: Callable[[], Iterable[StoreFiles]], limits: Limits, tail: str) -> None:
        self._listed, self._limits, self._tail = listed, limits, tail
        self._followers: dict[str, Follower] = {}
        self._next_listing = self._next_afresh = 0.0

    @property
    def stores(self) -> dict[str, StoreFiles]:
        """Their files, by URI, as far as they are known."""
        return {uri: follower.store for uri, follower in self._followers.items()}

    def look(self) -> dict[str, Boundary]:
        """Where each log ends now."""
        begun = time.monotonic()
        if begun >= self._next_listing or any(follower.is_stale for follower in self._followers.values()):
            self.list()
        if begun >= self._next_afresh:
            for follower in self._followers.values():
                follower.look_afresh()
            self._next_afresh = time.monotonic() + max(_AFRESH_EVERY, _REST * (time.monotonic() - begun))
        ends = {uri: follower.look() for uri, follower in self._followers.items()}
        if any(follower.is_stale for follower in self._followers.values()):  # their files are gone, and so their ends
            self.list()
            ends = {uri: follower.look() for uri, follower in self._followers.items()}
        return ends

    def has_news(self) -> bool:
        """Whether a look would see something that the last one did not."""
        return any(follower.has_news() for follower in self._followers.values())

    def close(self) -> None:
        """Let go of all files."""
        for follower in self._followers.values():
            follower.close()

    def list(self) -> None:
        """Look at which stores and which segments there are."""
        begun = time.monotonic()
        found = {store.uri: store for store in self._listed()}
        if not self._followers:  # those that are made now look afresh anyway
            self._next_afresh = begun + _AFRESH_EVERY
        for uri in self._followers.keys() - found.keys():
            self._followers[uri].close()
        self._followers = {uri: self._follower(store) for uri, store in found.items()}
        self._next_listing = time.monotonic() + max(_LISTED_EVERY, _REST * (time.monotonic() - begun))

    def _follower(self, store: StoreFiles) -> Follower:
        known = self._followers.get(store.uri)
        if known is None:
            return Follower(store, self._limits, self._tail)
        known.store, known.is_stale = store, False
        return known
