"""Whether entries of index files are true: whether a record with the key that they hash stands where they point."""

from __future__ import annotations

import numpy as np

from native_reader.access.index import Hits
from native_reader.access.queues import Numbers
from native_reader.layout.index_entry import TAG_PREFIX, key_hash
from native_reader.layout.properties import KEYS, KEYS_SEPARATOR, TAGS, UNIQ_KEY, parse, without_crc_trailer
from native_reader.scan.sync import frame_of, parts_at
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window


def judged(store: StoreFiles, hits: Hits, max_record_bytes: int) -> tuple[Numbers, Numbers]:
    """Of each hit how many bytes its record takes, frame included, and how many keys of that hash it has.

    Both 0 where it is not true; a size of 1 where the log has no file. One by one: a key has few records, and a few small
    reads are quicker than columns for each of them.
    """
    sizes, keys = np.zeros(len(hits.offsets), np.int64), np.zeros(len(hits.offsets), np.int64)
    bases = np.array([segment.base for segment in store.segments], np.int64)
    which = np.searchsorted(bases, hits.offsets, side="right") - 1
    for number in np.unique(which).tolist():
        mine = np.flatnonzero(which == number)
        if number < 0 or (hits.offsets[mine] >= store.segments[number].end).all():
            sizes[mine] = 1
            continue
        try:
            with Window(store.segments[number], 0) as window:
                for hit in mine.tolist():
                    sizes[hit], keys[hit] = _judged(window, int(hits.offsets[hit]), int(hits.hashes[hit]), max_record_bytes)
        except OSError:  # tells whoever reads it
            continue
    return sizes, keys


def _judged(window: Window, offset: int, hashed: int, max_record_bytes: int) -> tuple[int, int]:
    """The bytes of the record at that offset, and how many keys of that hash it has."""
    frame = frame_of(window.segment)
    position = offset - window.segment.base - frame
    parts = parts_at(window, position) if position >= 0 else None
    if parts is None or parts.size - frame > max_record_bytes:
        return 0, 0
    topic = window.peek(parts.topic_at, parts.topic_size).decode("utf-8", "replace")
    properties = parse(without_crc_trailer(window.peek(parts.properties_at, parts.properties_size)))
    words = [properties.get(UNIQ_KEY), *properties.get(KEYS, "").split(KEYS_SEPARATOR), f"{TAG_PREFIX}{properties.get(TAGS)}"]
    count = sum(bool(word) and key_hash(topic, str(word)) == hashed for word in words)
    return (parts.size, count) if count else (0, 0)
