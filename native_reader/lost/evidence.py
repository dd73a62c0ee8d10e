"""What is known of each message that consumers cannot get: its queue entry, its keys in the index, tags of its topic, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.account.account import Account
from native_reader.account.runs import Place
from native_reader.account.states import DOUBTFUL, LOST, NOT_READ
from native_reader.arrow import array
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.record import Mask, Numbers
from native_reader.lost.hashes import java_hashes
from native_reader.records.damages import UNREADABLE, Damage

MOST = 4_000_000
"""How many messages get a row of their own, and how many index entries are kept in memory. Other messages are listed as ranges."""
_MOST_TAGS = 3
_FURTHEST = 2**62
_LARGEST_HASH = 2**31
_ALONE = (LOST, DOUBTFUL, NOT_READ)
"""States whose messages get a row each, if an entry of the queue has them. Unreachable ones are whole, and in the log."""
Read = Callable[[str, Sequence[str]], Iterable[pa.RecordBatch]]
"""Reads these columns of a table of the store."""


class Entries(NamedTuple):
    """Queue entries of one queue, by queue offset."""

    numbers: Numbers
    counts: Numbers
    offsets: Numbers
    sizes: Numbers
    tags: Numbers

    def cut(self, start: int, stop: int) -> Entries:
        """Those of these queue offsets."""
        low, high = np.searchsorted(self.numbers, (start, stop)).tolist()
        return Entries(*(each[low:high] for each in self))


class Indexed(NamedTuple):
    """Index entries that name places without a whole record, by offset. `times`: when the record was stored, in microseconds."""

    offsets: Numbers
    hashes: Numbers
    times: Numbers

    def at(self, offset: int) -> Iterator[tuple[int, int]]:
        """Hash and time of each entry with that offset."""
        low, high = np.searchsorted(self.offsets, (offset, offset + 1)).tolist()
        return zip(self.hashes[low:high].tolist(), self.times[low:high].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All of it, beside the account."""

    entries: Mapping[Place, Entries]
    indexed: Indexed
    tags: Mapping[tuple[str, int], Sequence[str]]
    """By topic and hash."""
    groups: Mapping[Place, Mapping[str, int]]
    """By queue: the offset of each group."""


class Places:
    """Bytes of the log without a whole record, and offsets of queue entries whose record is lost."""

    def __init__(self, ranges: Iterable[tuple[int, int]], offsets: Numbers) -> None:
        bounds = np.array(sorted(ranges), np.int64).reshape(-1, 2)
        self._starts, self._reached = bounds[:, 0], np.maximum.accumulate(bounds[:, 1]) if len(bounds) else bounds[:, 1]
        self._offsets = np.unique(offsets)

    def have(self, offsets: Numbers) -> Mask:
        """Which offsets are among them."""
        found: Mask = np.isin(offsets, self._offsets)
        if len(self._starts):
            before = np.searchsorted(self._starts, offsets, "right") - 1
            found |= (before >= 0) & (offsets < self._reached[np.maximum(before, 0)])
        return found


def lost_ranges(damage: Iterable[Damage], missing: Iterable[Any]) -> list[tuple[int, int]]:
    """The bytes of the log that are damaged or missing, without those that could not be read."""
    ranges = [(each.start, each.end) for each in damage if each.reason != UNREADABLE]
    return ranges + [(each.start, each.stop) for each in missing]


def wanted_in(account: Account) -> pa.Table:
    """The rows of the account whose messages get a row each, as far as they are few enough."""
    rows = account.faults
    rows = rows.filter(
        pc.and_(
            pc.and_(pc.is_in(rows["state"], array(_ALONE)), pc.is_valid(rows["first_queue_offset"])),
            pc.and_(pc.is_valid(rows["topic"]), pc.greater(rows["messages"], 0)),
        )
    )
    return rows.filter(array(np.cumsum(rows["messages"].to_numpy()) <= MOST))


def entries_of(wanted: pa.Table, read: Read) -> dict[Place, Entries]:
    """The queue entries of these rows of an account."""
    ranges = _ranges(wanted)
    found: dict[Place, list[Entries]] = {place: [] for place in ranges}
    columns = ("topic", "queue_id", "queue_offset", "messages", "physical_offset", "size", "tags_code")
    for batch in read("queue_entries", columns) if found else ():
        for place, rows in groups_of(batch):
            if place in ranges and len(kept := _within(batch, rows, ranges[place])):
                found[place].append(Entries(*(_numbers(batch[name]).take(kept) for name in columns[2:])))
    return {place: _sorted(pieces) for place, pieces in found.items() if pieces}


def _ranges(wanted: pa.Table) -> dict[Place, pa.Table]:
    """The rows of each queue, by queue offset."""
    wanted = wanted.select(("topic", "queue_id", "first_queue_offset", "last_queue_offset", "first_offset", "last_offset"))
    ordered = wanted.sort_by([("topic", "ascending"), ("queue_id", "ascending"), ("first_queue_offset", "ascending")])
    (batch,) = ordered.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], ordered.schema)]
    return {place: pa.Table.from_batches([batch.take(array(rows))]) for place, rows in groups_of(batch)}


def _within(batch: pa.RecordBatch, rows: Numbers, ranges: pa.Table) -> Numbers:
    """Which of these entries are in one of the ranges, of queue offsets and of the log."""
    numbers, offsets, sizes = (_numbers(batch[name])[rows] for name in ("queue_offset", "physical_offset", "size"))
    firsts, lasts = (ranges[name].to_numpy() for name in ("first_queue_offset", "last_queue_offset"))
    low = ranges["first_offset"].fill_null(0).to_numpy()
    high = ranges["last_offset"].fill_null(_FURTHEST).to_numpy()
    at = np.maximum(np.searchsorted(firsts, numbers, "right") - 1, 0)
    inside = (numbers >= firsts[at]) & (numbers <= lasts[at]) & (offsets >= low[at]) & (offsets <= high[at])
    kept: Numbers = rows[inside & (sizes > 0)]
    return kept


def _sorted(pieces: Sequence[Entries]) -> Entries:
    together = Entries(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
    _, order = np.unique(together.numbers, return_index=True)  # two copies of a queue can have the same
    return Entries(*(each[order] for each in together))


def groups_of(batch: pa.RecordBatch) -> Iterator[tuple[Place, Numbers]]:
    """The rows of each queue, in their order. Rows without a topic or queue are left out."""
    rows = np.flatnonzero(pc.and_(pc.is_valid(batch["topic"]), pc.is_valid(batch["queue_id"])).to_numpy(zero_copy_only=False))
    if not len(rows):
        return
    topics = batch["topic"].take(array(rows)).dictionary_encode()
    queues = _numbers(batch["queue_id"].take(array(rows)))
    codes = (topics.indices.to_numpy().astype(np.int64) << 32) + (queues & 0xFFFFFFFF)
    order = np.argsort(codes, kind="stable")
    bounds = np.flatnonzero(np.diff(codes[order])) + 1
    for part in np.split(order, bounds):
        yield (topics.dictionary[int(codes[part[0]] >> 32)].as_py(), int(queues[part[0]])), rows[part]


def _numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    numbers: Numbers = column.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def indexed_at(places: Places, read: Read) -> Indexed:
    """The index entries that name these places."""
    found: list[tuple[Numbers, ...]] = [(np.empty(0, np.int64),) * 3]
    room = MOST
    for batch in read("index_entries", ("hash", "physical_offset", "store_timestamp")):
        hashes, offsets = _numbers(batch["hash"]), _numbers(batch["physical_offset"])
        kept = np.flatnonzero(places.have(offsets) & ((hashes != 0) | (offsets != 0)))[:room]
        times = batch["store_timestamp"].cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        found.append((offsets[kept], hashes[kept], times[kept]))
        room -= len(kept)
    columns = [np.concatenate(each) for each in zip(*found, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Indexed(*(each[order] for each in columns))


def offsets_of_groups(places: Iterable[Place], read: Read) -> dict[Place, dict[str, int]]:
    """How far each group is in these queues."""
    found: dict[Place, dict[str, int]] = {place: {} for place in places}
    for batch in read("consumer_offsets", ("group", "topic", "queue_id", "committed")):
        for row in batch.to_pylist():
            place = row["topic"], row["queue_id"]
            if place in found and row["group"] is not None and row["committed"] is not None:
                found[place][row["group"]] = max(row["committed"], found[place].get(row["group"], -1))
    return found


class Tags:
    """The tags of whole records, by topic and hash. `wanted`: the hashes of messages that are lost."""

    def __init__(self, wanted: Mapping[str, Numbers]) -> None:
        self._wanted = {topic: np.unique(hashes) for topic, hashes in wanted.items() if topic != DELAY_TOPIC}
        self._topics = array(sorted(self._wanted), pa.string())
        self.found: dict[tuple[str, int], list[str]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add records. They need `topic` and `tags`."""
        batch = batch.select(("topic", "tags")).filter(pc.and_(pc.is_in(batch["topic"], self._topics), pc.is_valid(batch["tags"])))
        pairs = pa.Table.from_batches([batch]).group_by(["topic", "tags"], use_threads=False).aggregate([]).combine_chunks()
        for each in pairs.to_batches():
            hashes, topics = java_hashes(each["tags"]), each["topic"].dictionary_encode()
            for number, topic in enumerate(topics.dictionary.to_pylist()):
                rows = np.flatnonzero((topics.indices.to_numpy() == number) & np.isin(hashes, self._wanted[topic]))
                for row in rows.tolist():
                    self._add(topic, int(hashes[row]), each["tags"][row].as_py())

    def _add(self, topic: str, hashed: int, tag: str) -> None:
        known = self.found.setdefault((topic, hashed), [])
        if tag not in known and len(known) < _MOST_TAGS:
            known.append(tag)


def is_tag_hash(topic: str, code: int) -> bool:
    """Whether a queue has the hash of a tag, not a time of delivery or the address of a filter."""
    return topic != DELAY_TOPIC and -_LARGEST_HASH <= code < _LARGEST_HASH


def tags_wanted(account: Account, entries: Mapping[Place, Entries]) -> dict[str, Numbers]:
    """The hashes of tags of what consumers cannot get, by topic."""
    found: dict[str, list[Numbers]] = {}
    for (topic, _), each in entries.items():
        found.setdefault(topic, []).append(each.tags)
    rows = account.faults.filter(pc.and_(pc.is_valid(account.faults["topic"]), pc.is_valid(account.faults["tag_hash"])))
    pairs = rows.group_by(["topic", "tag_hash"], use_threads=False).aggregate([])
    for topic, code in zip(pairs["topic"].to_pylist(), pairs["tag_hash"].to_pylist(), strict=True):
        found.setdefault(topic, []).append(np.array([code], np.int64))
    return {topic: np.concatenate(codes) for topic, codes in found.items()}
