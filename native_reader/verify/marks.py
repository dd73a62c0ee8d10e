"""What a check compares of each record: numbers of its head, and hashes of its tag and keys.

Only the properties that are needed are looked for, because cutting all of them costs several times as much. They are read as a
broker reads them when it dispatches a record: a value ends at the next \\x02, so that the checksum of the record belongs to the last
value if it follows without one. The last of equal names counts, except those with an empty value.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.columns.strings import Source, content_of, offsets_of, short
from native_reader.layout.index_entry import TAG_PREFIX
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
from native_reader.layout.record import INNER_BATCH, Index, Mask, Records, unsigned_at
from native_reader.verify.hashes import Texts, positive, words_of

Longs = NDArray[np.int64]
_WORD = 8
_COUNT_DIGITS, _NUMBER_DIGITS = 5, 18
_UNKNOWN = -1


class Marks(NamedTuple):
    """What a check compares of records, of their keys in the order in which a broker indexes them, and of light queues that they name.

    Hashes are Java's.
    """

    offsets: Longs
    sizes: Longs
    queue_ids: Longs
    queue_offsets: Longs
    times: Longs
    flags: Longs
    topics: Longs
    """Where the topic of each record is in `names`."""
    tags: Longs
    tag_keys: Longs
    """The hash under which the index may have the tag."""
    delayed: Longs
    """1 if it has a delay level."""
    counts: Longs
    """How many messages it holds, -1 if unknown."""
    key_rows: Longs
    """The record of each key."""
    keys: Longs
    """Its hash as the index has it."""
    light_rows: Longs
    """The record of each light queue."""
    lights: Longs
    """Where the queue is in `light_names`."""
    light_numbers: Longs
    """The number of the record there, -1 if unknown."""
    names: list[bytes]
    light_names: list[bytes]


def marks_of(source: Source, records: Records) -> Marks:
    """The marks of these records, of which there is one or more."""
    compiled = kernel.marks(source.u8, records)
    return numpy_marks(source, records) if compiled is None else Marks._make(compiled)


def numpy_marks(source: Source, records: Records) -> Marks:
    """As `kernel.marks`."""
    heads, pieces = records.heads, _Pieces(source, records)
    topics = short(source.arrow, records.topic_at, records.topic_size, pa.binary()).dictionary_encode()
    which, names = topics.indices.to_numpy(), topics.dictionary.to_pylist()
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

    delayed = np.zeros(len(records), np.int64)
    delayed[pieces.find(DELAY)[0]] = 1
    light_rows, lights, light_numbers, light_names = _lights(pieces)
    return Marks(
        heads["physical_offset"].astype(np.int64),
        heads["size"].astype(np.int64),
        heads["queue_id"].astype(np.int64),
        heads["queue_offset"].astype(np.int64),
        heads["store_timestamp"].astype(np.int64),
        heads["sys_flag"].astype(np.int64),
        which.astype(np.int64),
        tags.view(np.int32).astype(np.int64),
        positive(tag_begins * factors + tags),
        delayed,
        _counts(records, pieces),
        key_rows[order],
        positive(begins[key_rows] * raises + hashes)[order],
        light_rows,
        lights,
        light_numbers,
        names,
        light_names,
    )


def _counts(records: Records, pieces: _Pieces) -> Longs:
    """How many messages each record holds."""
    counts = np.ones(len(records), np.int64)
    if len(batches := records.with_flag(INNER_BATCH)):
        rows, values = pieces.values(INNER_NUM)
        stated = np.full(len(records), _UNKNOWN)
        stated[rows] = [_number(value, _COUNT_DIGITS) for value in values.to_pylist()]
        counts[batches] = stated[batches]
    return counts


def _lights(pieces: _Pieces) -> tuple[Longs, Longs, Longs, list[bytes]]:
    """The last fields of `Marks`, without the topics."""
    found, names = list[tuple[int, int, int]](), dict[bytes, int]()
    rows, lists = pieces.values(LIGHT_QUEUES)
    if len(rows):  # few, except in stores of MQTT
        others, numbers = pieces.values(LIGHT_OFFSETS)
        numbers_of = dict(zip(others.tolist(), numbers.to_pylist(), strict=True))
        for row, queues in zip(rows.tolist(), lists.to_pylist(), strict=True):
            own = chain(numbers_of.get(row, b"").split(LIGHT_SEPARATOR), repeat(b""))
            pairs = zip(queues.split(LIGHT_SEPARATOR), own, strict=False)
            found += [(row, names.setdefault(name, len(names)), _number(number, _NUMBER_DIGITS)) for name, number in pairs if name]
    light_rows, lights, light_numbers = np.array(found, np.int64).reshape(-1, 3).T
    return light_rows, lights, light_numbers, list(names)


def _number(text: bytes, most: int) -> int:
    """The number that a text of at most that many digits is."""
    return int(text) if text.isdigit() and len(text) <= most else _UNKNOWN


@lru_cache(1024)
def _begins_of(topic: bytes) -> tuple[int, int]:
    """Java's hashes of what the index puts before a key of that topic, and before a tag."""
    name = topic.decode("utf-8", "replace")
    return java_hash(f"{name}#") & 0xFFFFFFFF, java_hash(f"{name}#{TAG_PREFIX}") & 0xFFFFFFFF


class _Pieces:
    """What \\x02 separates in the properties of all records: positions in a copy of them, `[begins, ends)`."""

    def __init__(self, source: Source, records: Records) -> None:
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
