"""What a check compares of each record: numbers of its head, and hashes of its tag and keys.

Only the properties that are needed are looked for, because cutting all of them costs several times as much. They are read as a
broker reads them when it dispatches a record: a value ends at the next \\x02, so that the checksum of the record belongs to the last
value if it follows without one. The last of equal names counts, except those with an empty value.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.arrow import numpy_of
from native_reader.columns.strings import PaddedBuffer, content_of, offsets_of, short
from native_reader.layout.bodies import not_packed, packed_as_plain
from native_reader.layout.index_entry import TAG_PREFIX
from native_reader.layout.inner import units_of
from native_reader.layout.properties import (
    DELAY,
    INNER_NUM,
    KEYS,
    KEYS_SEPARATOR,
    LIGHT_OFFSETS,
    LIGHT_QUEUES,
    LIGHT_SEPARATOR,
    NAME_END,
    TAGS,
    UNIQ_KEY,
    VALUE_END,
)
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import COMPRESSED, INNER_BATCH, Bytes, Index, Mask, Numbers, Records, unsigned_at
from native_reader.verify.hashes import Texts, positive, words_of

Ints = NDArray[np.int32]
NOT_PACKED, PACKED, ODD_PROPERTIES = 1, 2, 4
"""Its flags say that its body is compressed, or that it is not; its properties are not UTF-8."""
Place = tuple[bytes, int]
"""A topic and a queue id."""
_WORD = 8
_COUNT_DIGITS, _NUMBER_DIGITS = 5, 18
_UNKNOWN = -1
_FEW_PLACES = 1 << 16
"""This many pairs of topic and queue id fit in a table."""
_NOT_ASCII = 0x80
_NAMES_OF_RECORD = 64
"""This many bytes of names count as much as a record."""


class Marks(NamedTuple):
    """What a check compares of records, of their keys in the order in which a broker indexes them, and of light queues that they name.

    Hashes are Java's.
    """

    offset: Numbers
    queue_offset: Numbers
    time: Numbers
    size: Ints
    place: Ints
    """The number of the topic and the queue id, also of earlier marks: `places` has only those that are new."""
    tag: Ints
    tag_key: Ints
    """The hash under which the index may have the tag."""
    flags: Ints
    delayed: Ints
    """1 if it has a delay level."""
    messages: Ints
    """How many it holds, -1 if unknown."""
    doubts: Ints
    """How it contradicts itself: any of NOT_PACKED, PACKED and ODD_PROPERTIES."""
    key_row: Numbers
    """The record of each key."""
    key: Numbers
    """Its hash as the index has it."""
    key_alone: Numbers
    """Its hash without the topic."""
    light_row: Numbers
    """The record of each light queue."""
    light: Numbers
    """Where the queue is in `light_queues`."""
    light_number: Numbers
    """The number of the record there, -1 if unknown."""
    places: list[Place]
    light_queues: list[bytes]


_KINDS = {Numbers: np.int64, Ints: np.int32}
_NOTHING = tuple(np.empty(0, _KINDS[hint]) for hint in get_type_hints(Marks).values() if hint in _KINDS)
"""Marks of no records, without their places and light queues."""


def new_marker() -> kernel.Marker | NumpyMarker:
    """A marker without records."""
    return kernel.marker() or NumpyMarker()


class NumpyMarker:
    """As `kernel.Marker`."""

    def __init__(self) -> None:
        self._places: dict[Place, int] = {}
        self._forget()

    def _forget(self) -> None:
        self._parts: list[tuple[NDArray[Any], ...]] = [_NOTHING]
        self._rows = self._held = self._text = 0
        self._new: list[Place] = []
        self._light_queues: dict[bytes, int] = {}

    def taken(self) -> Marks:
        """As `kernel.Marker.taken`."""
        columns = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        marks = Marks._make([*columns, self._new, list(self._light_queues)])
        self._forget()
        return marks

    def add(self, u8: Bytes, records: Records) -> int:
        """As `kernel.Marker.add`, of one record or more."""
        source = PaddedBuffer(u8, pa.py_buffer(u8))
        heads, pieces = records.heads, _PropertyParts(source, records)
        topics = short(source.arrow, records.topic_at, records.topic_size, pa.binary()).dictionary_encode()
        which, names = numpy_of(topics.indices), topics.dictionary.to_pylist()
        begins, tag_begins = np.array([_begins_of(name) for name in names], np.uint32).T[:, which]

        tags, factors = np.zeros(len(records), np.uint32), np.ones(len(records), np.uint32)
        rows, values = pieces.values(TAGS)
        tags[rows], factors[rows] = Texts.of(values).hashes()

        unique_rows, unique = pieces.values(UNIQ_KEY)
        rows, values = pieces.values(KEYS)
        words, owners = words_of(values, ord(KEYS_SEPARATOR))
        key_rows = np.concatenate([unique_rows, rows[owners]])
        hashes, raises = (np.concatenate(pair) for pair in zip(Texts.of(unique).hashes(), words.hashes(), strict=True))
        order = np.argsort(key_rows, kind="stable")

        delayed = np.zeros(len(records), np.int32)
        delayed[pieces.find(DELAY)[0]] = 1
        light_rows, lights, light_numbers = self._lights(pieces)
        self._parts.append(
            (
                heads["physical_offset"].astype(np.int64),
                heads["queue_offset"].astype(np.int64),
                heads["store_timestamp"].astype(np.int64),
                heads["size"].astype(np.int32),
                self._places_of(which.astype(np.int64), heads["queue_id"].astype(np.int64), names),
                tags.view(np.int32),
                positive(tag_begins * factors + tags).astype(np.int32),
                heads["sys_flag"].astype(np.int32),
                delayed,
                _counts(u8, records, pieces),
                _doubts(u8, records, pieces),
                key_rows[order] + self._rows,
                positive(begins[key_rows] * raises + hashes)[order],
                positive(hashes)[order],
                light_rows + self._rows,
                lights,
                light_numbers,
            )
        )
        self._rows += len(records)
        self._held += len(records) + len(key_rows) + len(light_rows)
        return self._held + self._text // _NAMES_OF_RECORD

    def _places_of(self, topics: Numbers, queue_ids: Numbers, names: list[bytes]) -> Ints:
        """The place of each record. `topics`: where its topic is in `names`."""
        unique, inverse = _distinct(topics, queue_ids, len(names))
        return np.array([self._number((names[each], queue_id)) for each, queue_id in unique], np.int32)[inverse]

    def _number(self, place: Place) -> int:
        if place not in self._places:
            self._places[place] = len(self._places)
            self._new.append(place)
            self._text += len(place[0])
        return self._places[place]

    def _lights(self, pieces: _PropertyParts) -> tuple[Numbers, Numbers, Numbers]:
        """Rows, queues and numbers of the light queues that records name."""
        found, known = list[tuple[int, int, int]](), self._light_queues
        before = len(known)
        rows, lists = pieces.values(LIGHT_QUEUES)
        if len(rows):  # few, except in stores of MQTT
            others, numbers = pieces.values(LIGHT_OFFSETS)
            numbers_of = dict(zip(others.tolist(), numbers.to_pylist(), strict=True))
            for row, queues in zip(rows.tolist(), lists.to_pylist(), strict=True):
                own = chain(numbers_of.get(row, b"").split(LIGHT_SEPARATOR), repeat(b""))
                pairs = zip(queues.split(LIGHT_SEPARATOR), own, strict=False)
                found += [(row, known.setdefault(name, len(known)), _digits(number, _NUMBER_DIGITS)) for name, number in pairs if name]
            self._text += sum(map(len, list(known)[before:]))
        light_rows, lights, light_numbers = np.array(found, np.int64).reshape(-1, 3).T
        return light_rows, lights, light_numbers


def _counts(u8: Bytes, records: Records, pieces: _PropertyParts) -> Ints:
    """How many messages each record holds: what it says, or what it has. Batches are few, and each takes long to read anyway."""
    counts = np.ones(len(records), np.int32)
    if len(batches := records.with_flag(INNER_BATCH)):
        rows, values = pieces.values(INNER_NUM)
        stated = dict(zip(rows.tolist(), values.to_pylist(), strict=True))
        for row in batches.tolist():
            count = _digits(stated.get(row, b""), _COUNT_DIGITS)
            counts[row] = _units_in(u8, *records.body(row)) if count == _UNKNOWN else count
    return counts


def _doubts(u8: Bytes, records: Records, pieces: _PropertyParts) -> Ints:
    """How each record contradicts itself."""
    doubts = np.where(pieces.odd(), ODD_PROPERTIES, 0).astype(np.int32)
    doubts[not_packed(u8, records)] |= NOT_PACKED
    doubts[packed_as_plain(u8, records)] |= PACKED
    return doubts


def _units_in(u8: Bytes, begin: int, size: int, flags: int) -> int:
    units = None if flags & COMPRESSED else units_of(u8[begin : begin + size])
    return _UNKNOWN if units is None else len(units)


def _digits(text: bytes, most: int) -> int:
    """The number that a text of at most that many digits is."""
    return int(text) if text.isdigit() and len(text) <= most else _UNKNOWN


def _distinct(topics: Numbers, queue_ids: Numbers, count: int) -> tuple[list[tuple[int, int]], Index]:
    """The different pairs of topic and queue id as they occur, and which of them each record has. Topics are numbers below `count`."""
    width = int(queue_ids.max()) + 1
    if int(queue_ids.min()) >= 0 and count * width <= _FEW_PLACES:  # a table, because sorting costs ten times as much
        codes, table = topics * width + queue_ids, np.zeros(count * width, np.intp)
        table[codes[::-1]] = np.arange(len(codes), 0, -1)  # the last one written is the first that occurs
        found = np.flatnonzero(table)
        found = found[np.argsort(table[found])]
        table[found] = np.arange(len(found))
        return [divmod(code, width) for code in found.tolist()], table[codes]
    unique, firsts, inverse = np.unique(topics << 32 | queue_ids & 0xFFFFFFFF, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.argsort(order)
    return [(code >> 32, (code & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)) for code in unique[order].tolist()], rank[inverse]


@lru_cache(1024)
def _begins_of(topic: bytes) -> tuple[int, int]:
    """Java's hashes of what the index puts before a key of that topic, and before a tag."""
    name = topic.decode("utf-8", "replace")
    return java_hash(f"{name}#") & 0xFFFFFFFF, java_hash(f"{name}#{TAG_PREFIX}") & 0xFFFFFFFF


class _PropertyParts:
    """What \\x02 separates in the properties of all records: positions in a copy of them, `[begins, ends)`."""

    def __init__(self, source: PaddedBuffer, records: Records) -> None:
        starts, sizes = records.properties_at, records.properties_size
        # One byte more of each field, for a \x02 after its last piece. And a word after all, so that every gather stays inside.
        rest = starts[-1:] + sizes[-1:] + 1
        copies = short(source.arrow, np.append(starts, rest), np.append(sizes + 1, np.full(len(rest), _WORD)), pa.binary())
        self._buffer, self._content, bounds = copies.buffers()[2], content_of(copies), offsets_of(copies)[: len(records) + 1]
        self._fields = bounds[:-1].astype(np.intp)
        # Safe to write: Arrow has just allocated these bytes, and nothing else refers to them.
        self._content[bounds[1:] - 1] = VALUE_END
        self._ends = np.flatnonzero(self._content[: int(bounds[-1])] == VALUE_END)
        self._begins = np.append(0, self._ends[:-1] + 1)
        self._bounds = bounds
        self._words = unsigned_at(self._content, _WORD)
        self._first = self._words[self._begins]

    def find(self, name: str) -> tuple[Index, Index, Index]:
        """The rows with that property, which ascend; begin and end of each value. Values are never empty."""
        label = name.encode() + bytes([NAME_END])
        found = np.flatnonzero(_begin_alike(self._first, label))
        begins, ends = self._begins[found] + len(label), self._ends[found]
        kept = ends > begins
        for place in range(_WORD, len(label), _WORD):
            # Pieces that are too short are out already; `minimum` moves only theirs.
            positions = np.minimum(begins - len(label) + place, len(self._words) - 1)
            kept &= _begin_alike(self._words[positions], label[place:])
        begins, ends = begins[kept], ends[kept]
        rows = np.searchsorted(self._fields, begins, "right") - 1
        if (rows[1:] == rows[:-1]).any():
            last = np.append(rows[1:] != rows[:-1], True)
            rows, begins, ends = rows[last], begins[last], ends[last]
        return rows, begins, ends

    def odd(self) -> Mask:
        """Which fields end in zeros, or are not UTF-8, as all text of a broker is."""
        begins, ends, content = self._bounds[:-1], self._bounds[1:] - 1, self._content
        others = np.append(0, np.cumsum(content >= _NOT_ASCII))
        odd: Mask = (ends > begins) & (content[np.maximum(ends, 1) - 1] == 0)
        for row in np.flatnonzero(others[ends] > others[begins]).tolist():
            try:
                content[begins[row] : ends[row]].tobytes().decode()
            except UnicodeDecodeError:
                odd[row] = True
        return odd

    def values(self, name: str) -> tuple[Index, pa.Array]:
        """The rows with that property, and its values."""
        rows, begins, ends = self.find(name)
        return rows, short(self._buffer, begins, ends - begins, pa.binary())


def _begin_alike(words: NDArray[np.unsignedinteger], label: bytes) -> Mask:
    """Which words begin as the label does, as far as both reach."""
    size = min(len(label), _WORD)
    expected, reach = np.uint64(int.from_bytes(label[:size], "little")), np.uint64((1 << 8 * size) - 1)
    alike: Mask = words == expected if size == _WORD else words & reach == expected
    return alike
