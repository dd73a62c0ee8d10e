"""Checks index entries: is there a record with the hashed key at the indexed offset?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from native_reader.layout.index_entry import TAG_PREFIX, key_hash
from native_reader.layout.properties import KEYS, KEYS_SEPARATOR, TAGS, UNIQ_KEY, parse, without_crc_trailer
from native_reader.layout.record import HEAD, HEAD_SIZE, PREPARED, TRANSACTION, Mask
from native_reader.plan.index import Hits
from native_reader.plan.queues import Numbers
from native_reader.records.sync import head_at, layout_at
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window

_AT_ONCE = 4 << 10
ABSENT, UNCHECKED = 1, -1


class CheckedHits(NamedTuple):
    """For each hit: record size (with frame), how many of its keys have this hash, and whether it is a prepared message.

    All 0 if there is no record with such a key. Special sizes: ABSENT if no file has this offset; UNCHECKED if the record
    is too large, damaged or unreadable, which the read itself reports later.
    """

    sizes: Numbers
    keys: Numbers
    prepared: Mask

    def where(self, which: Mask) -> CheckedHits:
        """Only these hits."""
        return CheckedHits(self.sizes[which], self.keys[which], self.prepared[which])


def check_hits(store: StoreFiles, hits: Hits, max_record_bytes: int) -> CheckedHits:
    """Check each hit, one by one: a key has few records, so small reads are faster than building columns."""
    count = len(hits.offsets)
    sizes, keys, prepared = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    bases = np.array([segment.base for segment in store.segments], np.int64)
    which = np.searchsorted(bases, hits.offsets, side="right") - 1
    for number in np.unique(which).tolist():
        inside = np.flatnonzero(which == number)
        absent = hits.offsets[inside] >= store.segments[number].end if number >= 0 else np.ones(len(inside), np.bool_)
        sizes[inside] = np.where(absent, ABSENT, UNCHECKED)
        inside = inside[~absent]
        if not len(inside):
            continue
        try:
            with _Nearby(store.segments[number], 0) as window:
                for hit in inside.tolist():
                    offset, hashed = int(hits.offsets[hit]), int(hits.hashes[hit])
                    sizes[hit], keys[hit], prepared[hit] = _check_hit(window, offset, hashed, max_record_bytes)
        except OSError:  # the read itself reports it
            continue
    return CheckedHits(sizes, keys, prepared)


class _Nearby(Window):
    """A window that reads most records in one call, because a call costs more than the bytes."""

    _position, _ahead = 0, b""

    def look_at(self, position: int) -> None:
        """Prepare for peeks at `position` and after."""
        self._position, self._ahead = position, super().peek(position, _AT_ONCE) if position >= 0 else b""

    def peek(self, position: int, length: int) -> bytes:
        """As in `Window`."""
        start = position - self._position
        if 0 <= start <= len(self._ahead) - length:
            return self._ahead[start : start + length]
        return super().peek(position, length)


def _check_hit(window: _Nearby, offset: int, hashed: int, max_record_bytes: int) -> tuple[int, int, bool]:
    """`check_hits` for one hit."""
    frame = window.segment.frame
    position = offset - window.segment.base - frame
    window.look_at(position)
    layout = layout_at(window, position) if position >= 0 else None
    if layout is None:
        # The head has the right offset, so the record is damaged, and the read reports it. Otherwise the index is wrong.
        is_here = position >= 0 and int(head_at(window, position)["physical_offset"]) == offset
        return UNCHECKED if is_here else 0, 0, False
    if layout.size - frame > max_record_bytes:
        return UNCHECKED, 0, False
    topic = window.peek(layout.topic_at, layout.topic_size).decode("utf-8", "replace")
    properties = parse(without_crc_trailer(window.peek(layout.properties_at, layout.properties_size)))
    words = [properties.get(UNIQ_KEY), *properties.get(KEYS, "").split(KEYS_SEPARATOR), f"{TAG_PREFIX}{properties.get(TAGS)}"]
    count = sum(bool(word) and key_hash(topic, str(word)) == hashed for word in words)
    if not count:
        return 0, 0, False
    head = np.frombuffer(window.peek(position + frame, HEAD_SIZE), HEAD)[0]
    return layout.size, count, bool(head["sys_flag"] & TRANSACTION == PREPARED)
