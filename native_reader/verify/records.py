"""What a check needs of each record: a few numbers, so that millions fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.columns.properties import PropertyColumns, cut_properties
from native_reader.columns.strings import Source, replaced, short
from native_reader.layout.index_entry import TAG_PREFIX
from native_reader.layout.inner import units_of
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.properties import CRC_NAME, CRC_SIZE, DELAY, KEYS, KEYS_SEPARATOR, TAGS, UNIQ_KEY, VALUE_END, parse
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import COMPRESSED, INNER_BATCH, PREPARED, ROLLBACK, TRANSACTION, Records, unsigned_at
from native_reader.verify.hashes import Hashes, Texts, positive, words_of
from native_reader.verify.sides import Queues

_COUNT, _LIGHT, _LIGHT_OFFSETS = "INNER_NUM", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET"
_NAMES = (DELAY, KEYS, TAGS, UNIQ_KEY, _COUNT, _LIGHT, _LIGHT_OFFSETS)
_CRC_WORD = int.from_bytes(CRC_NAME, "little")
_MOST_PLACES = 100_000
NO_QUEUE, NO_ENTRY = -1, -2
"""Instead of the number of a queue: the record's queue has no files; brokers do not dispatch the record."""
BY_HASH, BY_TIME, IN_BATCH = 0, 1, 2
"""What the tags code of an entry is: the hash of the tag; a time; the hash or 0."""

Longs = NDArray[np.int64]


@dataclass(slots=True)
class Facts:
    """The records of some range, in log order."""

    offset: Longs
    size: NDArray[np.int32]
    place: NDArray[np.int32]
    """The pair of topic and queue, a number of `RecordReader.places`."""
    queue: NDArray[np.int32]
    queue_offset: Longs
    time: Longs
    tag: NDArray[np.int32]
    """The hash of the tag."""
    tag_key: NDArray[np.int32]
    """The hash under which the index may have the tag."""
    kind: NDArray[np.int8]
    count: NDArray[np.int32]
    """How many messages it holds."""
    rolls_back: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(slots=True)
class Pairs:
    """Numbers that belong to a record, by the record's index: its keys' hashes, or its places in light queues."""

    row: NDArray[np.intp]
    value: Longs
    other: Longs


def _none(kind: str) -> NDArray[np.generic]:
    return np.empty(0, kind)


NO_FACTS = Facts(*(_none(kind) for kind in ("i8", "i4", "i4", "i4", "i8", "i8", "i4", "i4", "i1", "i4", "?")))  # type: ignore[arg-type]
NO_PAIRS = Pairs(*(_none("i8") for _ in range(3)))  # type: ignore[arg-type]


class RecordReader:
    """Turns chunks of records into facts. Remembers topics and their queues."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self._topics: dict[bytes, int] = {}
        self._begins: list[tuple[int, int]] = []
        self._known: dict[int, int] = {}
        self.names: list[str] = []
        self.places: list[tuple[str, int, int]] = []
        """Topic, queue id and number of the queue, or NO_QUEUE, of each pair seen."""

    def read(self, source: Source, records: Records) -> tuple[Facts, Pairs, Pairs]:
        """The facts of these records, the hashes of their keys, and their places in light queues."""
        heads = records.heads
        flags = heads["sys_flag"].astype(np.int32)
        topics = self._topic_numbers(source, records)
        place = self._place_numbers(topics, heads["queue_id"].astype(np.int64))
        properties = cut_properties(source, records.properties_at, records.properties_size, _NAMES)
        tags, keys, uniq_key = _with_glued(source, records, [(name, properties.single(name)) for name in (TAGS, KEYS, UNIQ_KEY)])
        tag, factor = _hashes_of_few(tags)
        tag_begin = np.array([begin for _, begin in self._begins], np.uint32)[topics]
        state, is_batch = flags & TRANSACTION, flags & INNER_BATCH != 0
        queue = np.array([number for _, _, number in self.places], np.int32)[place]
        queue[(state == PREPARED) | (state == ROLLBACK)] = NO_ENTRY
        kind = np.where(is_batch, IN_BATCH, BY_HASH).astype(np.int8)
        if (delayed := self._topics.get(DELAY_TOPIC.encode())) is not None and properties.has(DELAY):
            kind[(topics == delayed) & properties.single(DELAY).is_valid().to_numpy(zero_copy_only=False)] = BY_TIME
        facts = Facts(
            heads["physical_offset"].astype(np.int64),
            heads["size"].astype(np.int32),
            place,
            queue,
            heads["queue_offset"].astype(np.int64),
            heads["store_timestamp"].astype(np.int64),
            tag.view(np.int32),
            positive(tag_begin * factor + tag).astype(np.int32),
            kind,
            _counts(properties, source, records, is_batch),
            state == ROLLBACK,
        )
        return facts, self._keys(topics, uniq_key, keys), self._light(properties)

    def forget(self) -> None:
        """Forget topics if there are very many, as in a corrupt log. Only between ranges, because facts have their numbers."""
        if len(self.places) > _MOST_PLACES:
            for known in (self._topics, self._begins, self._known, self.names, self.places):
                known.clear()

    def _topic_numbers(self, source: Source, records: Records) -> NDArray[np.intp]:
        encoded = short(source.arrow, records.topic_at, records.topic_size, pa.binary()).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        numbers = [self._topics.get(topic, -1) for topic in texts]
        for which, number in enumerate(numbers):
            if number < 0:
                name = texts[which].decode("utf-8", "replace")
                numbers[which] = self._topics[texts[which]] = len(self.names)
                self.names.append(name)
                self._begins.append((java_hash(f"{name}#") & 0xFFFFFFFF, java_hash(f"{name}#{TAG_PREFIX}") & 0xFFFFFFFF))
        topics: NDArray[np.intp] = np.array(numbers, np.intp)[encoded.indices.to_numpy()]
        return topics

    def _place_numbers(self, topics: NDArray[np.intp], queue_ids: Longs) -> NDArray[np.int32]:
        both = topics << 32 | queue_ids & 0xFFFFFFFF
        unique, inverse = np.unique(both, return_inverse=True)
        for each in unique.tolist():
            if each not in self._known:
                name, queue_id = self.names[each >> 32], (each & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)
                self._known[each] = len(self.places)
                self.places.append((name, queue_id, self._queues.numbers.get((name, queue_id), NO_QUEUE)))
        return np.array([self._known[each] for each in unique.tolist()], np.int32)[inverse]

    def _keys(self, topics: NDArray[np.intp], uniq_key: pa.Array, keys: pa.Array) -> Pairs:
        """The hash of each key, as the index has it."""
        begins = np.array([begin for begin, _ in self._begins], np.uint32)[topics]
        whole = Texts.of(uniq_key)
        filled = np.flatnonzero(whole.ends > whole.begins)
        hashes, factors = (each[filled] for each in whole.hashes())
        rows, values = [filled], [positive(begins[filled] * factors + hashes)]
        if keys.null_count < len(keys):
            words, owners = words_of(keys, ord(KEYS_SEPARATOR))
            hashes, factors = words.hashes()
            rows.append(owners)
            values.append(positive(begins[owners] * factors + hashes))
        return Pairs(np.concatenate(rows), np.concatenate(values), np.zeros(0, np.int64))

    def _light(self, properties: PropertyColumns) -> Pairs:
        """The light queues of each record, and its number in each; -1 if unknown."""
        if not properties.has(_LIGHT):
            return NO_PAIRS
        names, offsets = properties.single(_LIGHT), properties.single(_LIGHT_OFFSETS)
        rows = np.flatnonzero(names.is_valid().to_numpy(zero_copy_only=False))
        if not len(rows):
            return NO_PAIRS
        lists = pc.split_pattern(names.take(pa.array(rows)), ",")
        numbers = pc.split_pattern(pc.fill_null(offsets.take(pa.array(rows)), ""), ",")
        owners = np.repeat(rows, pc.list_value_length(lists).to_numpy())
        encoded = lists.flatten().dictionary_encode()
        known = np.array([self._queues.numbers.get((name, 0), NO_QUEUE) for name in encoded.dictionary.to_pylist()], np.int64)
        queue = known[encoded.indices.to_numpy()]
        texts = numbers.flatten()
        places = np.full(len(owners), -1, np.int64)
        if len(texts) == len(owners) and bool(pc.all(pc.match_substring_regex(texts, "^[0-9]{1,18}$")).as_py()):
            places = texts.cast(pa.int64()).to_numpy()
        return Pairs(owners, queue, places)


def joined(parts: list[Facts]) -> Facts:
    """The facts of several chunks."""
    return Facts(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Facts)))


def joined_pairs(parts: list[Pairs], counts: list[int]) -> Pairs:
    """The pairs of several chunks with that many records each."""
    begins = np.concatenate([[0], np.cumsum(counts)])
    rows = [part.row + begin for part, begin in zip(parts, begins, strict=False)]
    return Pairs(np.concatenate(rows), *(np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "other")))


def within(offsets: Longs, ranges: Longs) -> NDArray[np.bool_]:
    """Which offsets are in one of the ranges `[start, stop)`, which ascend."""
    if not len(ranges):
        return np.zeros(len(offsets), np.bool_)
    at = np.searchsorted(ranges[:, 0], offsets, "right") - 1
    inside: NDArray[np.bool_] = (at >= 0) & (offsets < ranges[at, 1])
    return inside


def _with_glued(source: Source, records: Records, columns: list[tuple[str, pa.Array]]) -> list[pa.Array]:
    """Columns of properties as a broker dispatches them: with the record's checksum, if it follows the last value without a separator."""
    able = records.properties_size > CRC_SIZE
    at = np.where(able, records.properties_at + records.properties_size - CRC_SIZE, 1)
    glued = np.flatnonzero(able & (unsigned_at(source.u8, 8)[at] == _CRC_WORD) & (source.u8[at - 1] != VALUE_END))
    if not len(glued):
        return [column for _, column in columns]
    places = zip(records.properties_at[glued].tolist(), records.properties_size[glued].tolist(), strict=True)
    parsed = [parse(source.u8[begin : begin + size].tobytes()) for begin, size in places]
    return [replaced(column, glued, pa.array([each.get(name) for each in parsed], column.type)) for name, column in columns]


def _hashes_of_few(column: pa.Array) -> tuple[Hashes, Hashes]:
    """As `Texts.hashes`, for a column with few different values."""
    encoded = column.dictionary_encode()
    hashes, factors = Texts.of(encoded.dictionary).hashes()
    # A null has index -1 here, and thereby the last element: the empty text.
    hashes, factors = np.append(hashes, np.uint32(0)), np.append(factors, np.uint32(1))
    which = encoded.indices.fill_null(-1).to_numpy()
    return hashes[which], factors[which]


def _counts(properties: PropertyColumns, source: Source, records: Records, is_batch: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The number of messages of each record; -1 if unknown. Batches are few, and each takes long to read anyway."""
    counts = np.ones(len(is_batch), np.int32)
    if not is_batch.any():
        return counts
    text = properties.single(_COUNT)
    for row in np.flatnonzero(is_batch).tolist():
        digits = text[row].as_py() or ""
        if digits.isascii() and digits.isdigit() and len(digits) < 6:
            counts[row] = int(digits)
            continue
        begin = int(records.body_at[row])
        is_packed = bool(records.heads["sys_flag"][row] & COMPRESSED)
        units = None if is_packed else units_of(source.u8[begin : begin + int(records.body_size[row])])
        counts[row] = -1 if units is None else len(units)
    return counts
