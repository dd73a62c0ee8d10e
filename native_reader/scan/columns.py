"""How each column is made from the rows of a chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.layout.hosts import host_text, offset_message_ids
from native_reader.layout.kinds import kind_of, kind_of_topic
from native_reader.layout.properties import DELAY, KEYS, KEYS_SEPARATOR, REAL_TOPIC, TAGS, UNIQ_KEY, delay_level
from native_reader.layout.record import BORN_IPV6, INNER_BATCH, STORE_IPV6, TRANSACTION, at, born_host_at, store_host_at
from native_reader.scan.properties import PropertyColumns, PropertyReader
from native_reader.scan.rows import Rows
from native_reader.scan.strings import long, short, text
from native_reader.schema import COLUMNS, KEYS_TYPE, TIMESTAMP

_PROPERTIES_OF = {
    "tags": (TAGS,),
    "keys": (KEYS,),
    "msg_id": (UNIQ_KEY,),
    "uniq_key": (UNIQ_KEY,),
    "real_topic": (REAL_TOPIC,),
    "delay_level": (DELAY,),
}
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999


class Columns:
    """Makes the columns of one read, chunk after chunk; what it learns of one chunk it uses in the next.

    `properties` names single properties that are wanted besides the columns.
    """

    def __init__(self, names: Iterable[str], store: str, segment: str, properties: Iterable[str] = ()) -> None:
        self.names = tuple(names)
        single = {name for column in self.names for name in _PROPERTIES_OF.get(column, ())} | set(properties)
        self._reader = PropertyReader(sorted(single), "properties" in self.names) if single or "properties" in self.names else None
        self._constants = {"store": store, "segment": segment}
        self._repeated: dict[str, pa.Array] = {}
        self._kinds: dict[str | None, str | None] = {}

    def arrays(self, rows: Rows) -> dict[str, pa.Array]:
        """Every column of those rows, by name."""
        chunk = Chunk(self, rows)
        return {name: _MAKERS[name](chunk) for name in self.names}

    def chunk(self, rows: Rows) -> Chunk:
        """Those rows, to ask for one column after the other."""
        return Chunk(self, rows)

    def properties(self, rows: Rows) -> PropertyColumns:
        """What was asked for of their properties."""
        records = rows.records
        if self._reader is None:
            return PropertyColumns(None, {})
        return self._reader.read(*rows.source, records.properties_at, records.properties_size)

    def repeated(self, value: str, count: int) -> pa.Array:
        """One text many times over; made once and sliced."""
        known = self._repeated.get(value)
        if known is None or len(known) < count:
            known = self._repeated[value] = pa.repeat(pa.scalar(value, pa.string()), 2 * count)
        return known.slice(0, count)

    def constant(self, column: str, count: int) -> pa.Array:
        """A column that is the same in the whole segment."""
        return self.repeated(self._constants[column], count)

    def kind_of_topic(self, topic: str | None) -> str | None:
        """The kind that a topic decides, remembered."""
        if topic not in self._kinds:
            self._kinds[topic] = kind_of_topic(topic)
        return self._kinds[topic]


class Chunk:
    """Rows, and the columns of theirs that others are made of, each made once."""

    def __init__(self, columns: Columns, rows: Rows) -> None:
        self.columns, self.rows = columns, rows
        self.records, self.heads = rows.records, rows.records.heads
        self._topic: pa.Array | None = None
        self._properties: PropertyColumns | None = None
        self._ids: pa.Array | None = None

    def column(self, name: str) -> pa.Array:
        """One column."""
        return _MAKERS[name](self)

    def properties(self) -> PropertyColumns:
        if self._properties is None:
            self._properties = self.columns.properties(self.rows)
        return self._properties

    def property(self, name: str) -> pa.Array:
        """One property as text, null where it is absent."""
        return self.properties().named[name]

    def topic(self) -> pa.Array:
        if self._topic is None:
            self._topic = text(short(self.rows.source.arrow, self.records.topic_at, self.records.topic_size, pa.binary()))
        return self._topic

    def offset_ids(self) -> pa.Array:
        if self._ids is None:
            self._ids = _offset_ids(self)
        return self._ids


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


def _host(field: str, family: int) -> Maker:
    """Hosts of a chunk are few: each is put into words once."""

    def make(chunk: Chunk) -> pa.Array:
        return _with_ipv6(chunk, field, family, lambda hosts, _: _in_words(hosts))

    return make


def _with_ipv6(chunk: Chunk, field: str, family: int, make: Callable[[NDArray[np.void], NDArray[np.intp]], pa.Array]) -> pa.Array:
    """What `make` makes of the hosts of those rows, and of the IPv6 ones among them."""
    column = make(np.ascontiguousarray(chunk.heads[field]), np.arange(len(chunk.rows)))
    rows = np.flatnonzero(chunk.heads["sys_flag"] & family)
    if not len(rows):
        return column
    starts = chunk.records.starts[rows]
    places = born_host_at(starts) if family == BORN_IPV6 else store_host_at(starts, chunk.heads[rows])
    return _replaced(column, rows, make(at(chunk.rows.source.u8, "V20")[places].view("V20"), rows))


def _in_words(hosts: NDArray[np.void]) -> pa.Array:
    width = hosts.dtype.itemsize
    found = pa.Array.from_buffers(pa.binary(width), len(hosts), [None, pa.py_buffer(hosts)]).dictionary_encode()
    return pa.array([host_text(host) for host in found.dictionary.to_pylist()], pa.string()).take(found.indices)


def _replaced(column: pa.Array, rows: NDArray[np.intp], values: pa.Array) -> pa.Array:
    """`column` with other values in some rows."""
    places = np.arange(len(column))
    places[rows] = len(column) + np.arange(len(rows))
    return pa.concat_arrays([column, values]).take(pa.array(places))


def _offset_ids(chunk: Chunk) -> pa.Array:
    def make(hosts: NDArray[np.void], rows: NDArray[np.intp]) -> pa.Array:
        ids = offset_message_ids(hosts, chunk.heads["physical_offset"][rows])
        ends = np.arange(len(ids) + 1, dtype=np.int32) * ids.shape[1]
        return pa.StringArray.from_buffers(len(ids), pa.py_buffer(ends), pa.py_buffer(ids))

    return _with_ipv6(chunk, "store_host", STORE_IPV6, make)


def _msg_id(chunk: Chunk) -> pa.Array:
    unique = chunk.property(UNIQ_KEY)
    return unique if not unique.null_count else pc.coalesce(unique, chunk.offset_ids())


def _keys(chunk: Chunk) -> pa.Array:
    keys = chunk.property(KEYS)
    if not pc.any(pc.match_substring(keys, KEYS_SEPARATOR)).as_py():
        valid = np.zeros(len(keys) + 1, np.int32)
        np.cumsum(keys.is_valid().to_numpy(zero_copy_only=False), out=valid[1:])
        mask = keys.is_null() if keys.null_count else None
        return pa.ListArray.from_arrays(pa.array(valid), keys.drop_null(), mask=mask).cast(KEYS_TYPE)
    words = [None if value is None else [word for word in value.split(KEYS_SEPARATOR) if word] for value in keys.to_pylist()]
    return pa.array(words, KEYS_TYPE)


def _delay_level(chunk: Chunk) -> pa.Array:
    found = chunk.property(DELAY).dictionary_encode()
    return pa.array([delay_level(each) for each in found.dictionary.to_pylist()], pa.int32()).take(found.indices)


def _kind(chunk: Chunk) -> pa.Array:
    flags = chunk.heads["sys_flag"] & (TRANSACTION | INNER_BATCH)
    topics = chunk.topic().dictionary_encode()
    names = topics.dictionary.to_pylist()
    kinds = [kind_of(name, 0) for name in names]
    if len(set(kinds)) == 1 and not flags.any():
        return chunk.columns.repeated(kinds[0], len(chunk.rows))
    plain = pa.array(kinds, pa.string()).take(topics.indices)
    special = np.flatnonzero(flags)
    if not len(special):
        return plain
    codes = topics.indices.to_numpy()[special]
    words = [kind_of(names[code], int(flag)) for code, flag in zip(codes, flags[special], strict=True)]
    return _replaced(plain, special, pa.array(words, pa.string()))


def _body(chunk: Chunk) -> pa.Array:
    rows, records = chunk.rows, chunk.records
    decoded = rows.decoded
    if decoded is None or not len(decoded.rows):
        return _stored_body(chunk)
    which, starts, sizes = np.zeros(len(rows), np.intp), records.body_at.copy(), records.body_size.copy()
    which[decoded.rows], starts[decoded.rows], sizes[decoded.rows] = 1, decoded.starts, np.maximum(decoded.sizes, 0)
    null = np.zeros(len(rows), np.bool_)
    null[decoded.rows] = decoded.sizes < 0
    return long([rows.source, decoded.source], which, starts, sizes, null)


def _stored_body(chunk: Chunk) -> pa.Array:
    return long([chunk.rows.source], None, chunk.records.body_at, chunk.records.body_size)


def _inner_index(chunk: Chunk) -> pa.Array:
    return pa.nulls(len(chunk.rows), pa.int32()) if chunk.rows.inner is None else pa.array(chunk.rows.inner)


_MAKERS: dict[str, Maker] = {
    "topic": Chunk.topic,
    "queue_id": _number("queue_id", pa.int32()),
    "queue_offset": _number("queue_offset", pa.int64()),
    "tags": _property(TAGS),
    "keys": _keys,
    "msg_id": _msg_id,
    "body": _body,
    "properties": lambda chunk: chunk.properties().map,
    "born_timestamp": _timestamp("born_timestamp"),
    "store_timestamp": _timestamp("store_timestamp"),
    "kind": _kind,
    "physical_offset": _number("physical_offset", pa.int64()),
    "store": _constant("store"),
    "born_host": _host("born_host", BORN_IPV6),
    "store_host": _host("store_host", STORE_IPV6),
    "reconsume_times": _number("reconsume_times", pa.int32()),
    "flag": _number("flag", pa.int32()),
    "sys_flag": _number("sys_flag", pa.int32()),
    "prepared_transaction_offset": _number("prepared_transaction_offset", pa.int64()),
    "body_crc": _number("body_crc", pa.int32()),
    "record_size": _number("size", pa.int32()),
    "uniq_key": _property(UNIQ_KEY),
    "offset_msg_id": Chunk.offset_ids,
    "inner_index": _inner_index,
    "stored_body": _stored_body,
    "body_size": _number("body_size", pa.int32()),
    "magic": _number("magic", pa.int32()),
    "real_topic": _property(REAL_TOPIC),
    "delay_level": _delay_level,
    "segment": _constant("segment"),
    "corrupt_record": _null("corrupt_record"),
    "corrupt_reason": _null("corrupt_reason"),
}
