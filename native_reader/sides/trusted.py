"""Checks what an index returns against the log: whether each hit is there, which files can be trusted, and what they cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from native_reader.broker.progress import checkpoint_of
from native_reader.layout.index_entry import TAG_PREFIX, key_hash
from native_reader.layout.properties import KEYS, KEYS_SEPARATOR, TAGS, UNIQ_KEY, parse, without_crc_trailer
from native_reader.layout.record import PREPARED, TRANSACTION, Mask, Numbers
from native_reader.records.sync import head_at, layout_at
from native_reader.sentences import Said, say
from native_reader.sides.index import FileHits, Hits
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles, is_live
from native_reader.storage.window import Window
from native_reader.tuning import TUNING

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
    sizes, keys, prepared = np.full(count, ABSENT), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    bases, stops = (np.array([getattr(segment, name) for segment in store.segments], np.int64) for name in ("base", "end"))
    which = np.searchsorted(bases, hits.offsets, side="right") - 1
    present = (which >= 0) & (hits.offsets < stops[which]) if len(stops) else np.zeros(count, np.bool_)
    sizes[present] = UNCHECKED
    rows = np.flatnonzero(present)
    rows = rows[np.argsort(which[rows], kind="stable")]
    named = zip(which[rows].tolist(), rows.tolist(), hits.offsets[rows].tolist(), hits.hashes[rows].tolist(), strict=True)
    for number, of_segment in groupby(named, key=itemgetter(0)):
        try:
            with _Nearby(store.segments[number], 0) as window:
                for _, row, offset, hashed in of_segment:
                    sizes[row], keys[row], prepared[row] = _check_hit(window, offset, hashed, max_record_bytes)
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
    words = [properties.get(UNIQ_KEY, ""), *properties.get(KEYS, "").split(KEYS_SEPARATOR)]
    words += [f"{TAG_PREFIX}{properties[TAGS]}"] if TAGS in properties else []
    count = sum(key_hash(topic, word) == hashed for word in words if word)
    if not count:
        return 0, 0, False
    return layout.size, count, layout.flags & TRANSACTION == PREPARED


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """The hits of all files, each checked, and what the files themselves are good for."""

    hits: Hits
    checked: CheckedHits
    uncovered: tuple[tuple[int, int], ...] = ()
    """Offsets `[start, stop)` that no trusted file covers."""
    uncovered_without_ids: tuple[tuple[int, int], ...] = ()
    """The same for messages without UNIQ_KEY."""
    why: tuple[Said, ...] = ()
    """Why files are not trusted."""


def check_trusted_files(store: StoreFiles, files: Sequence[FileHits], max_record_bytes: int) -> CheckedFiles:
    """Check only the hits; with too many hits for planning, all stay UNCHECKED."""
    hits = _joined([file.hits for file in files])
    count = len(hits.offsets)
    if count <= TUNING.most_hits:
        return CheckedFiles(hits, check_hits(store, hits, max_record_bytes))
    return CheckedFiles(hits, CheckedHits(np.full(count, UNCHECKED), np.zeros(count, np.int64), np.zeros(count, np.bool_)))


def check_files(store: StoreFiles, files: Sequence[FileHits], max_record_bytes: int, log: tuple[int, int]) -> CheckedFiles:
    """Check the hits and the files: one wrong entry makes a file untrusted."""
    files = [_bounded(file) for file in files]
    entries = [_joined([file.proofs, file.hits]) if len(file.hits.offsets) else file.proofs for file in files]
    together, counts = _joined(entries), [len(entry.offsets) for entry in entries]
    checked, stale_after = check_hits(store, together, max_record_bytes), stale_after_of(store)
    parts = [len(each) for file in files for each in (file.proofs.offsets, file.hits.offsets)]
    is_hit = np.repeat(np.arange(len(parts)) % 2 == 1, parts)
    repeated = _too_often(together, checked.keys, is_hit)
    results, last_sizes, begin = [], [], 0
    for file, named, count in zip(files, entries, counts, strict=True):
        sizes, is_repeated = checked.sizes[begin : begin + count], repeated[begin : begin + count]
        begin += count
        proofs = len(file.proofs.offsets)
        why = file.why or _why_untrusted(file, named, sizes, is_repeated, log[0])
        if why is None and stale_after is not None and file.end_time > stale_after:
            why = Said("index newer")
        results.append(replace(file, why=why))
        last_sizes.append(int(sizes[proofs - 1]) if proofs and int(file.proofs.offsets[-1]) == file.end else 0)
    sized = list(zip(results, last_sizes, strict=True))
    return CheckedFiles(
        together.where(is_hit),
        checked.where(is_hit),
        tuple(_uncovered(sized, log)),
        tuple(_uncovered([(file, size) for file, size in sized if file.without_ids], log)),
        tuple(say("at", place=file.uri, what=file.why) for file in results if file.why is not None),
    )


def _why_untrusted(file: FileHits, named: Hits, sizes: Numbers, is_repeated: Mask, log_start: int) -> Said | None:
    """What in the log contradicts the entries of a file; None if nothing does."""
    if not len(file.proofs.offsets) and file.end >= log_start:
        return Said("index of no record")
    if (wrong := sizes <= 0).any():
        return say("index wrong", offset=int(named.offsets[wrong.argmax()]))
    if is_repeated.any():
        return say("index too often", offset=int(named.offsets[is_repeated.argmax()]))
    return None


def _joined(hits: Sequence[Hits]) -> Hits:
    return Hits(*(np.concatenate(parts) for parts in zip(*hits, strict=True)))


def _bounded(file: FileHits) -> FileHits:
    """Drop the hits of a file that has too many of them to check during planning."""
    count = len(file.hits.offsets)
    if count <= TUNING.most_hits:
        return file
    return replace(file, hits=file.hits.where(np.zeros(count, np.bool_)), why=say("index many", entries=count))


def _too_often(hits: Hits, keys: Numbers, is_hit: Mask) -> Mask:
    """Hits that name a record more often than it has keys of that hash. One of them is for another record with that key."""
    pairs = np.stack([hits.hashes, hits.offsets], axis=1)
    _, which = np.unique(pairs, axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), is_hit)
    repeated: Mask = is_hit & (counts[which.ravel()] > keys) & (keys > 0)
    return repeated


def stale_after_of(store: StoreFiles) -> int | None:
    """Index files that end after this time may be incomplete: a broker deletes them at startup. None if all are complete."""
    if is_live(store.uri) or storage_of(store.uri).entry(f"{store.uri}/abort") is None:
        return None
    return checkpoint_of(store.uri).indexed_time


def _uncovered(files: Sequence[tuple[FileHits, int]], log: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Offsets of the log where no file has all keys. Each file with the size of its last record, 0 if that is not known.

    Keys of a file's first and last record may be in the previous or next file. They are covered only if that file touches this one.
    """
    known: list[tuple[int, int]] = []
    touching: tuple[int, ...] = ()
    for file, size in sorted(files, key=lambda pair: pair[0].begin):
        if file.why is None:
            start = known.pop()[0] if file.begin in touching else file.begin + 1
            known.append((start, file.end))
            touching = file.end, file.end + size
    reached = log[0]
    for start, stop in known:
        if reached < min(start, log[1]):
            yield reached, min(start, log[1])
        reached = max(reached, stop)
    if reached < log[1]:
        yield reached, log[1]
