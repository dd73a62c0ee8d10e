"""Finds where each log of a read ends, and what should not follow: records that consume queues name, and foreign bytes.

A read that stops after the last record looks complete. Other files of the store show whether it is: consume queues and index
name the records that existed, and the checkpoint has the store time of the last flushed one. Only queue entries confirm
each other, so the index and the checkpoint cause a warning, never an error.

Queues of healthy stores name such records too: a broker that truncates its log during recovery leaves their queue entries.
After a clean stop, the checkpoint then has the time of the last record in the log. Otherwise old records follow the end.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from native_reader.errors import warn
from native_reader.log.tail import ALL, AVAILABLE, LogEnd, look_at_end
from native_reader.plan.lost import CheckedEnd, Lost
from native_reader.plan.planning import Planning
from native_reader.plan.ways import NOT_SEEN, PlacesOfStores
from native_reader.sentences import Said, say
from native_reader.sides.entries import Entries
from native_reader.sides.index import index_files, search
from native_reader.sides.queues import QueueReader, Topic, queues_of, topics_in
from native_reader.storage.packed import is_readable, rest_command
from native_reader.storage.protocol import map_files, map_stores, storage_of
from native_reader.storage.store import PLAIN, Segment, StoreFiles, is_live, is_segment_name
from native_reader.storage.strays import is_blocked, offset_in, rename_command, unpack_command
from native_reader.storage.window import Window

_WALKED_WHOLE, _CUT = 8 << 20, Planning().max_partition_bytes
_TOPICS = 32
"""The queues of this many topics are checked first, so that planning stays fast with thousands of topics."""
_FEW_BYTES = 64 << 10
"""Brokers leave a few bytes after the last record (5.5.0 with writeWithoutMmap; 179 seen). More than this is reported."""
_BEYOND_ALL, _TEXT = 2**63 - 1, 64
_FORMATS = {
    b"\x1f\x8b": ("gzip", "gz"),
    b"\xfd7zXZ": ("xz", "xz"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zst"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4"),
    b"BZh": ("bzip2", "bz2"),
    b"PK\x03\x04": ("zip", "zip"),
}

_log = logging.getLogger("native_reader")


class Named(NamedTuple):
    """Records that consume queues name after an offset: how many, in how many queues, and the end of the last one."""

    records: int = 0
    queues: int = 0
    until: int = 0


def find_ends(stores: Sequence[StoreFiles], planning: Planning, seen: PlacesOfStores = NOT_SEEN) -> dict[str, CheckedEnd]:
    """The end of each log, by store URI. Foreign bytes after it are an error; a lenient read counts them as damage of the log."""
    sought = [store for store in stores if store.uri not in seen]
    found = map_stores(partial(_find_end, planning=planning), sought, [store.uri for store in sought])
    return {store.uri: seen[store.uri].end for store in stores if store.uri in seen} | {
        store.uri: end for store, end in zip(sought, found, strict=True)
    }


def _find_end(store: StoreFiles, planning: Planning) -> CheckedEnd:
    # A user who allows no cuts in segments that are cut by default gets no start inside them here either.
    walked_whole = planning.max_partition_bytes if planning.max_partition_bytes > _CUT else _WALKED_WHOLE
    end = look_at_end(store, planning.max_record_bytes, walked_whole, past_unreadable=planning.lenient, tail=planning.tail)
    lost = lost_after(store, end) if planning.tail in (AVAILABLE, ALL) and not is_live(store.uri) else None
    if end.stale:
        _log.info("%s: %s bytes of old records follow the end of the log: a broker discarded them", store.uri, f"{end.stale:,}")
    checked = CheckedEnd(end.offset, end.stale, lost, end.follows_record, end.starts)
    if lost is None:
        return checked
    if lost.is_loss and planning.fail_on_data_loss and not planning.lenient:
        raise lost.error()
    warn(_log, lost.said, is_loss=lost.is_loss)
    if planning.lenient and lost.junk_end > end.offset:
        return checked._replace(offset=lost.junk_end, follows_record=False)
    return checked


def lost_after(store: StoreFiles, end: LogEnd) -> Lost | None:
    """What is missing after the end of a log at rest; None if nothing is."""
    if end.stale or (_stopped_cleanly(store, end) and not end.junk and not store.strays) or not _has_all_segments(store):
        return None
    named, foreign = _named_after(store, end.offset), end.written - max(end.offset, end.torn)
    files_end = store.segments[-1].end if store.segments else 0
    packed = next((name for name in store.strays if offset_in(name) >= end.offset), None)
    is_missing = named.until > files_end or packed is not None
    is_foreign = foreign > (0 if named.records else _FEW_BYTES) or bool(end.junk)
    is_empty = end.is_empty and bool(store.segments)
    by_index = 0 if named.records else _last_in_index(store, end.offset)
    if not (named.records or is_foreign or is_empty or packed or by_index or _flushed_later(store, end)):
        return None
    junk_end = end.written if is_foreign else 0
    what, why = _what(store, end, named, by_index, packed), _why(store, end, packed, is_missing=is_missing, is_foreign=is_foreign)
    stop = max(named.until, by_index, junk_end, offset_in(packed) if packed else 0)
    if stop <= end.offset and packed and store.segments:  # nothing says how much of it was written
        stop = end.offset + store.segments[-1].size
    return Lost(store.uri, end.offset, stop, what, why, is_missing or is_foreign or is_empty, junk_end)


def _has_all_segments(store: StoreFiles) -> bool:
    """Whether the store has every segment of its directory. False if the user named only some segments."""
    known = {segment.base for segment in store.segments}
    if not store.segments:
        return True
    directory = store.segments[-1].directory
    entries = storage_of(directory).list(directory)
    named = (entry.name for entry in entries if entry.is_file and entry.size)
    return all(offset_in(name) in known or name in store.strays for name in named if is_segment_name(name) or is_readable(name))


def _stopped_cleanly(store: StoreFiles, end: LogEnd) -> bool:
    """Whether a broker stopped cleanly and recorded the time of the last record before `end`."""
    is_last = end.last_time is not None and end.last_time in (end.checkpoint.flushed_time, end.checkpoint.dispatched_time)
    return is_last and storage_of(store.uri).entry(f"{store.uri}/abort") is None


def _flushed_later(store: StoreFiles, end: LogEnd) -> bool:
    """Whether the checkpoint has a newer store time than the last record. DLedger keeps its own checkpoint, so False there."""
    if end.last_time is None and not end.is_empty:
        return False
    is_plain = all(segment.framing == PLAIN for segment in store.segments[-1:])
    return is_plain and end.checkpoint.newest > (end.last_time or 0)


def _last_in_index(store: StoreFiles, offset: int) -> int:
    """The last offset in the newest index file if it is at or after `offset`, else 0."""
    files = index_files(store.index)
    if not files:
        return 0
    last = search(files[-1], np.empty(0, np.int64), (0, _BEYOND_ALL), 0)
    return last.end if last.why is None and last.end >= offset else 0


def _named_after(store: StoreFiles, offset: int) -> Named:
    """Records that consume queues name. Checks a sample of topics, then all topics if the sample names any record."""
    sample = topics_in(store.queues, about=_TOPICS)
    found = _entries_after(sample, offset)
    # Neighbours of a record, which confirm it, are often in topics that are not in the sample.
    return _named_by(_entries_after(topics_in(store.queues), offset) if found and len(sample) >= _TOPICS else found, offset)


def _entries_after(topics: Sequence[Topic], offset: int) -> list[Entries]:
    """The entries of each queue of these topics that name something there or later."""

    def of_topic(topic: Topic) -> list[Entries]:
        per_queue = []
        for queue in queues_of(topic):
            with QueueReader(queue) as reader:
                per_queue.append(reader.within(offset, _BEYOND_ALL))
        return [entries for entries in per_queue if len(entries)]

    return [entries for per_queue in map_files(of_topic, topics) for entries in per_queue]


def _named_by(queues: Sequence[Entries], offset: int) -> Named:
    """Records that entries name, if these confirm each other: a changed entry can name any offset."""
    offsets = np.concatenate([np.empty(0, np.int64), *(entries.offsets for entries in queues)])
    ends = offsets + np.concatenate([np.empty(0, np.int64), *(entries.sizes for entries in queues)])
    # If the log continued, each record except the first starts where another ends, or at the start of a segment.
    confirmed = (offsets == offset) | np.isin(offsets, ends) | np.isin(ends, offsets)
    if not confirmed.any():
        return Named()
    until = int(ends[confirmed].max())
    counts = [int(entries.counts[entries.offsets < until].sum()) for entries in queues]
    return Named(sum(counts), sum(count > 0 for count in counts), until)


def _what(store: StoreFiles, end: LogEnd, named: Named, by_index: int, packed: str | None) -> Said:
    if named.records:
        return say("named by queues", records=named.records, queues=named.queues, end=end.offset, until=named.until)
    if end.is_empty:
        return say("no segment", segments=len(store.segments)) if len(store.segments) > 1 else say("only segment")
    if packed:
        return say("stray", name=packed, end=end.offset)
    if end.junk:
        return say("segments after", segments=len(end.junk), end=end.offset)
    if end.written - max(end.offset, end.torn) > _FEW_BYTES:
        return say("bytes after", bytes=end.written - end.offset, end=end.offset)
    if by_index:
        return say("named by index", offset=by_index, end=end.offset)
    return say("later checkpoint", end=end.offset)


def _why(store: StoreFiles, end: LogEnd, packed: str | None, *, is_missing: bool, is_foreign: bool) -> Said:
    if end.junk:
        return _looks_like(end.junk[0])
    cut = _cut_short(store, end.offset)
    if cut is not None:
        return say("cut segment", name=cut.uri.rpartition("/")[2], size=cut.size, others=max(segment.size for segment in store.segments))
    if is_foreign:
        return say("overwritten")
    if is_missing or not store.segments:
        if not packed:
            return say("no file")
        if is_blocked(packed):
            return say("blocked file", name=packed)
        if command := rest_command(packed):
            return say("cut packed segment", name=packed, command=command)
        if command := unpack_command(packed):
            return say("packed file", name=packed, command=command)
        return say("renamed file", name=packed, command=rename_command(packed))
    if end.is_empty and store.segments:
        return _looks_like(store.segments[-1])
    return say("copied before")


def _cut_short(store: StoreFiles, offset: int) -> Segment | None:
    """The segment where the log ends, if it is smaller than others and no segment continues it: a broker makes them of one size."""
    segment = store.segment_at(offset)
    if segment is None:
        return None
    is_continued = any(each.base == segment.end for each in store.segments)
    return segment if segment.size < max(segment.size for segment in store.segments) and not is_continued else None


def _looks_like(segment: Segment) -> Said:
    """A description of the first bytes of a file that does not show any of them."""
    with Window(segment, 512, past_unreadable=True) as window:
        if window.unopened is not None:
            return say("not opened", reason=window.unopened)
        begin = window.peek(0, 512)
    for magic, (name, ending) in _FORMATS.items():
        if begin.startswith(magic):
            packed = f"{segment.name}.{ending}"
            return say("packed", file=segment.uri, format=name, command=f"mv {segment.name} {packed} && {unpack_command(packed)}")
    if begin[257:262] == b"ustar":
        return say("archive", file=segment.uri)
    if not any(begin):
        return say("begins with zeros", file=segment.uri)
    is_text = all(32 <= byte < 127 or byte in b"\t\r\n" for byte in begin[:_TEXT])
    return say("begins with text" if is_text else "begins with unknown", file=segment.uri)
