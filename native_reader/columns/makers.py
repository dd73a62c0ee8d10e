"""Builds each column from the rows of a chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.properties import PropertyColumns, PropertyReader
from native_reader.columns.rows import Rows, by_record
from native_reader.columns.strings import content_of, offsets_of, replaced, short, text
from native_reader.layout.hosts import host_text, offset_message_ids
from native_reader.layout.kinds import KINDS, NORMAL, kind_of, may_be_special
from native_reader.layout.properties import DELAY, KEYS, KEYS_SEPARATOR, REAL_TOPIC, TAGS, UNIQ_KEY, delay_level
from native_reader.layout.record import BORN_IPV6, INNER_BATCH, STORE_IPV6, TRANSACTION, Bytes, Index, at, born_host_at, store_host_at
from native_reader.predicate.tree import EVERYTHING, Predicate
from native_reader.records.damages import CHECKSUM
from native_reader.schema import COLUMNS, KEYS_TYPE, TIMESTAMP

_PROPERTIES_OF = {
    "tags": (TAGS,),
    "keys": (KEYS,),
    "msg_id": (UNIQ_KEY,),
    "uniq_key": (UNIQ_KEY,),
    "real_topic": (REAL_TOPIC,),
    "delay_level": (DELAY,),
}
_UNDECODED = "body"
"""The column that cannot be built, and the reason in `corrupt_reason`."""
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999


class Columns:
    """Builds the columns of one read, chunk by chunk, and reuses what it learned from earlier chunks.

    The columns and properties of `predicate` are available in addition to the columns.
    """

    def __init__(
        self, names: Iterable[str], store: str, segment: str, predicate: Predicate = EVERYTHING, *, marks_failed: bool = False
    ) -> None:
        self.names, self.marks_failed = tuple(names), marks_failed
        conditions = list(predicate.columns())
        single = {name for column in (*self.names, *(each.name for each in conditions)) for name in _PROPERTIES_OF.get(column, ())}
        self._reader = PropertyReader(sorted(single | {each.key for each in conditions if each.key is not None}))
        self._constants = {"store": store, "segment": segment}
        self._repeated: dict[str, pa.Array] = {}

    def chunk(self, rows: Rows) -> Chunk:
        """These rows, for building one column at a time."""
        return Chunk(self, rows)

    def properties(self, rows: Rows) -> PropertyColumns:
        """The properties of these rows."""
        records = rows.records
        return self._reader.read(*rows.source, records.properties_at, records.properties_size)

    def repeated(self, value: str, count: int) -> pa.Array:
        """One text repeated `count` times; built once, then sliced."""
        known = self._repeated.get(value)
        if known is None or len(known) < count:
            known = self._repeated[value] = pa.repeat(pa.scalar(value, pa.string()), 2 * count)
        return known.slice(0, count)

    def constant(self, column: str, count: int) -> pa.Array:
        """A column with the same value in the whole segment."""
        return self.repeated(self._constants[column], count)


class Chunk:
    """Rows of one chunk. Caches the columns that other columns are built from."""

    def __init__(self, columns: Columns, rows: Rows) -> None:
        self.columns, self.rows = columns, rows
        self.records, self.heads = rows.records, rows.records.heads
        self._topic: pa.Array | None = None
        self._properties: PropertyColumns | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, chosen: Index) -> Chunk:
        """Only these rows, which ascend."""
        return self._part(self.rows.where(chosen), chosen)

    def with_bodies(self, at_most: int) -> Iterator[Chunk]:
        """The same rows in pieces, with compressed bodies decompressed."""
        begin = 0
        for rows in self.rows.with_bodies(at_most):
            yield self if rows is self.rows else self._part(rows, np.arange(begin, begin + len(rows)))
            begin += len(rows)

    def _part(self, rows: Rows, chosen: Index) -> Chunk:
        part = Chunk(self.columns, rows)
        part._topic = None if self._topic is None else self._topic.take(pa.array(chosen))
        part._properties = None if self._properties is None else self._properties.where(chosen)
        return part

    def arrays(self) -> list[pa.Array]:
        """All columns of the read."""
        return [self.column(name) for name in self.columns.names]

    def column(self, name: str) -> pa.Array:
        """One column."""
        return _MAKERS[name](self)

    def properties(self) -> PropertyColumns:
        if self._properties is None:
            self._properties = self.columns.properties(self.rows)
        return self._properties

    def property(self, name: str) -> pa.Array:
        """One property as text; null where absent."""
        return self.properties().single(name)

    def topic(self) -> pa.Array:
        if self._topic is None:
            if self.rows.inner is None:
                self._topic = self.topics(slice(None))
            else:
                first, record = by_record(self.records.starts)
                self._topic = self.topics(first).take(pa.array(record))
        return self._topic

    def topics(self, which: slice | Index) -> pa.Array:
        """The topics of some rows, each of a different record."""
        return text(short(self.rows.source.arrow, self.records.topic_at[which], self.records.topic_size[which], pa.binary()))


Maker = Callable[[Chunk], pa.Array]


def _number(field: str, kind: pa.DataType) -> Maker:
    dtype = kind.to_pandas_dtype()
    return lambda chunk: pa.array(chunk.heads[field].astype(dtype))


def _timestamp(field: str) -> Maker:
    def make(chunk: Chunk) -> pa.Array:
        milliseconds = chunk.heads[field].astype(np.int64)
        outside = (milliseconds < _FIRST_MS) | (milliseconds > _LAST_MS)
        milliseconds *= 1000
        return pa.array(milliseconds, mask=outside if outside.any() else None).view(TIMESTAMP)

    return make


def _property(name: str) -> Maker:
    return lambda chunk: chunk.property(name)


def _constant(name: str) -> Maker:
    return lambda chunk: chunk.columns.constant(name, len(chunk.rows))


def _null(name: str) -> Maker:
    return lambda chunk: pa.nulls(len(chunk.rows), COLUMNS[name].type)


def _born_host(chunk: Chunk) -> pa.Array:
    return _hosts(chunk, "born_host", BORN_IPV6, born_host_at(chunk.records.starts))


def _store_host(chunk: Chunk) -> pa.Array:
    return _hosts(chunk, "store_host", STORE_IPV6, store_host_at(chunk.records.starts, chunk.heads))


def _hosts(chunk: Chunk, field: str, family: int, places: NDArray[np.intp]) -> pa.Array:
    """Formats each distinct host once, because a chunk has few."""
    hosts = _host_texts(np.ascontiguousarray(chunk.heads[field]))
    longer = np.flatnonzero(chunk.heads["sys_flag"] & family)
    if not len(longer):
        return hosts
    return replaced(hosts, longer, _host_texts(at(chunk.rows.source.u8, "V20")[places[longer]].view("V20")))


def _host_texts(hosts: NDArray[np.void]) -> pa.Array:
    width = hosts.dtype.itemsize
    encoded = pa.Array.from_buffers(pa.binary(width), len(hosts), [None, pa.py_buffer(hosts)]).dictionary_encode()
    return pa.array([host_text(host) for host in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def _offset_ids(rows: Rows) -> pa.Array:
    heads, u8 = rows.records.heads, rows.source.u8
    ids = _hex_strings(offset_message_ids(heads["store_host"], heads["physical_offset"]))
    longer = np.flatnonzero(heads["sys_flag"] & STORE_IPV6)
    if not len(longer):
        return ids
    hosts = at(u8, "V20")[store_host_at(rows.records.starts[longer], heads[longer])].view("V20")
    return replaced(ids, longer, _hex_strings(offset_message_ids(hosts, heads["physical_offset"][longer])))


def _hex_strings(rows: Bytes) -> pa.Array:
    ends = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(ends), pa.py_buffer(rows))


def _msg_id(chunk: Chunk) -> pa.Array:
    unique = chunk.property(UNIQ_KEY)
    if not unique.null_count:
        return unique
    rows = np.flatnonzero(unique.is_null().to_numpy(zero_copy_only=False))
    return replaced(unique, rows, _offset_ids(chunk.rows.where(rows)))


def _keys(chunk: Chunk) -> pa.Array:
    """KEYS split at spaces. Word i starts after border i and ends at the next one; values and spaces are both borders."""
    keys = chunk.property(KEYS)
    content, ends = content_of(keys), offsets_of(keys)
    spaces = np.flatnonzero(content == ord(KEYS_SEPARATOR)).astype(np.int32)
    if len(spaces):
        begins, stops = _merged(ends[:-1], spaces + 1), _merged(spaces, ends[1:])
        words = np.flatnonzero(begins < stops)
        values = short(keys.buffers()[2], begins[words], stops[words] - begins[words], pa.string())
        counts = np.searchsorted(begins[words], ends).astype(np.int32)
    else:
        values = keys.drop_null()
        counts = np.zeros(len(keys) + 1, np.int32)
        np.cumsum(keys.is_valid().to_numpy(zero_copy_only=False), out=counts[1:])
    return pa.ListArray.from_arrays(pa.array(counts), values, type=KEYS_TYPE, mask=keys.is_null() if keys.null_count else None)


def _merged(one: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.intp]:
    """Merges two ascending arrays; a stable sort does that quickly."""
    return np.sort(np.concatenate([one, other]), kind="stable").astype(np.intp)


def _delay_level(chunk: Chunk) -> pa.Array:
    encoded = chunk.property(DELAY).dictionary_encode()
    return pa.array([delay_level(each) for each in encoded.dictionary.to_pylist()], pa.int32()).take(encoded.indices)


def _kind(chunk: Chunk) -> pa.Array:
    """A few bytes of topic and flags show that most rows are normal; only the others get a full check."""
    records, u8 = chunk.records, chunk.rows.source.u8
    flags = chunk.heads["sys_flag"] & (TRANSACTION | INNER_BATCH)
    special = np.flatnonzero((flags != 0) | may_be_special(u8, records.topic_at, records.topic_size))
    if not len(special):
        return chunk.columns.repeated(NORMAL, len(chunk.rows))
    first, record = by_record(records.starts[special])
    topics = chunk.topics(special[first]).dictionary_encode()
    names = topics.dictionary.to_pylist()
    kinds = [kind_of(names[code], flag) for code, flag in zip(topics.indices.to_pylist(), flags[special[first]].tolist(), strict=True)]
    codes = np.full(len(chunk.rows), KINDS.index(NORMAL))
    codes[special] = np.array([KINDS.index(kind) for kind in kinds])[record]
    return pa.array(KINDS, pa.string()).take(pa.array(codes))


def _bodies(name: str) -> Maker:
    return lambda chunk: chunk.rows.bodies(name).copied()


def _inner_index(chunk: Chunk) -> pa.Array:
    inner = chunk.rows.inner
    return pa.nulls(len(chunk.rows), pa.int32()) if inner is None else pa.array(inner, mask=inner < 0)


def _corrupt_reason(chunk: Chunk) -> pa.Array:
    """For messages whose record is intact: a checksum that failed, or a requested body that could not be decompressed."""
    reasons = np.full(len(chunk.rows), None, object)
    if chunk.columns.marks_failed:
        if chunk.rows.decoded is not None and _UNDECODED in chunk.columns.names:
            reasons[chunk.rows.decoded.rows[chunk.rows.decoded.sizes < 0]] = _UNDECODED
        if chunk.rows.failed is not None:
            reasons[np.isin(chunk.records.starts, chunk.rows.failed)] = CHECKSUM
    return pa.array(reasons, pa.string())


_MAKERS: dict[str, Maker] = {
    "topic": Chunk.topic,
    "queue_id": _number("queue_id", pa.int32()),
    "queue_offset": _number("queue_offset", pa.int64()),
    "tags": _property(TAGS),
    "keys": _keys,
    "msg_id": _msg_id,
    "body": _bodies("body"),
    "properties": lambda chunk: chunk.properties().map(),
    "born_timestamp": _timestamp("born_timestamp"),
    "store_timestamp": _timestamp("store_timestamp"),
    "kind": _kind,
    "physical_offset": _number("physical_offset", pa.int64()),
    "store": _constant("store"),
    "born_host": _born_host,
    "store_host": _store_host,
    "reconsume_times": _number("reconsume_times", pa.int32()),
    "flag": _number("flag", pa.int32()),
    "sys_flag": _number("sys_flag", pa.int32()),
    "prepared_transaction_offset": _number("prepared_transaction_offset", pa.int64()),
    "body_crc": _number("body_crc", pa.int32()),
    "record_size": _number("size", pa.int32()),
    "uniq_key": _property(UNIQ_KEY),
    "offset_msg_id": lambda chunk: _offset_ids(chunk.rows),
    "inner_index": _inner_index,
    "stored_body": _bodies("stored_body"),
    "body_size": _number("body_size", pa.int32()),
    "magic": _number("magic", pa.int32()),
    "real_topic": _property(REAL_TOPIC),
    "delay_level": _delay_level,
    "segment": _constant("segment"),
    "corrupt_record": _null("corrupt_record"),
    "corrupt_reason": _corrupt_reason,
}
