"""The functions that build a column from the rows of a chunk. `columns.schema` says which builds which."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of, repeat
from native_reader.columns.chunk import Chunk
from native_reader.columns.rows import Rows, by_record
from native_reader.columns.spec import DECOMPRESSED, KEYS_TYPE, TIMESTAMP
from native_reader.columns.strings import content_of, offsets_of, replaced, short, text_or_null
from native_reader.layout.kinds import KINDS, NORMAL, kind_of, may_be_special
from native_reader.layout.origins import origin_of
from native_reader.layout.properties import (
    DELAY,
    DLQ_ORIGIN_MESSAGE_ID,
    DLQ_ORIGIN_TOPIC,
    KEYS,
    KEYS_SEPARATOR,
    ORIGIN_GROUP,
    ORIGIN_MESSAGE_ID,
    RETRY_TOPIC,
    UNIQ_KEY,
    delay_level,
)
from native_reader.layout.record import (
    BORN_IPV6,
    HEAD,
    INNER_BATCH,
    STORE_IPV6,
    TRANSACTION,
    Bytes,
    Mask,
    at,
    born_host_at,
    host_text,
    offset_message_ids,
    store_host_at,
)
from native_reader.records.damages import PROPERTIES

Maker = Callable[[Chunk], pa.Array]

_UNDECODED = "body"
"""The reason in `corrupt_reason` if a body cannot be decompressed."""
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999


def number_of(field: str) -> Maker:
    """A number of the head, which has the width of its column."""
    dtype = HEAD[field].newbyteorder("=")
    return lambda chunk: array(chunk.heads[field].astype(dtype))


def time_of(field: str) -> Maker:
    def make(chunk: Chunk) -> pa.Array:
        return timestamps(chunk.heads[field].astype(np.int64))

    return make


def timestamps(milliseconds: NDArray[np.int64], unknown: Mask | None = None) -> pa.Array:
    """Times, null outside the years 1 to 9999 and where they are unknown. Changes its argument."""
    outside = (milliseconds < _FIRST_MS) | (milliseconds > _LAST_MS)
    if unknown is not None:
        outside |= unknown
    milliseconds *= 1000
    return array(milliseconds, mask=outside if outside.any() else None).view(TIMESTAMP)


def property_of(name: str) -> Maker:
    return lambda chunk: chunk.property(name)


def constant_of(name: str) -> Maker:
    return lambda chunk: chunk.columns.constant(name, len(chunk.rows))


def born_host(chunk: Chunk) -> pa.Array:
    return encoded_hosts(chunk, "born_host").cast(pa.string())


def store_host(chunk: Chunk) -> pa.Array:
    return encoded_hosts(chunk, "store_host").cast(pa.string())


def encoded_hosts(chunk: Chunk, field: str) -> pa.Array:
    """The column of that name, dictionary-encoded. Each distinct host is formatted once, because a chunk has few."""
    is_longer = chunk.heads["sys_flag"] & {"born_host": BORN_IPV6, "store_host": STORE_IPV6}[field] != 0
    if not is_longer.any():
        return _host_texts(np.ascontiguousarray(chunk.heads[field]))
    starts = chunk.records.starts
    places = born_host_at(starts) if field == "born_host" else store_host_at(starts, chunk.heads)
    shorter = _host_texts(np.ascontiguousarray(chunk.heads[field][~is_longer]))
    longer = _host_texts(at(chunk.rows.source.u8, "V20")[places[is_longer]].view("V20"))
    indices = np.empty(len(is_longer), np.int32)
    indices[~is_longer], indices[is_longer] = shorter.indices, numpy_of(longer.indices) + len(shorter.dictionary)
    return pa.DictionaryArray.from_arrays(indices, pa.concat_arrays([shorter.dictionary, longer.dictionary]))


def _host_texts(hosts: NDArray[np.void]) -> pa.Array:
    width, buffer = hosts.dtype.itemsize, pa.py_buffer(hosts)
    # Arrow finds distinct numbers several times as fast as distinct bytes.
    alike = pa.int64() if width == 8 else pa.binary(width)
    encoded = pa.Array.from_buffers(alike, len(hosts), [None, buffer]).dictionary_encode()
    texts = [host_text(host) for host in encoded.dictionary.view(pa.binary(width)).to_pylist()]
    return pa.DictionaryArray.from_arrays(encoded.indices, array(texts, pa.string()))


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


def tiered(chunk: Chunk) -> pa.Array:
    return repeat(chunk.columns.is_tiered, len(chunk))


def offset_msg_id(chunk: Chunk) -> pa.Array:
    return pa.nulls(len(chunk), pa.string()) if chunk.columns.is_tiered else _offset_ids(chunk.rows)


def msg_id(chunk: Chunk) -> pa.Array:
    unique = chunk.property(UNIQ_KEY)
    if not unique.null_count or chunk.columns.is_tiered:
        return unique
    rows = np.flatnonzero(numpy_of(unique.is_null()))
    return replaced(unique, rows, _offset_ids(chunk.rows.where(rows)))


def keys(chunk: Chunk) -> pa.Array:
    """KEYS split at spaces. Word i starts after border i and ends at the next one; values and spaces are both borders."""
    texts = chunk.property(KEYS)
    content, ends = content_of(texts), offsets_of(texts)
    spaces = np.flatnonzero(content == ord(KEYS_SEPARATOR)).astype(np.int32)
    if len(spaces):
        begins, stops = _merged(ends[:-1], spaces + 1), _merged(spaces, ends[1:])
        words = np.flatnonzero(begins < stops)
        values = short(texts.buffers()[2], begins[words], stops[words] - begins[words], pa.string())
        counts = np.searchsorted(begins[words], ends).astype(np.int32)
    else:
        values = texts.drop_null()
        counts = np.zeros(len(texts) + 1, np.int32)
        np.cumsum(numpy_of(texts.is_valid()), out=counts[1:])
    return pa.ListArray.from_arrays(array(counts), values, type=KEYS_TYPE, mask=texts.is_null() if texts.null_count else None)


def _merged(one: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.intp]:
    """Merges two ascending arrays; a stable sort does that quickly."""
    return np.sort(np.concatenate([one, other]), kind="stable").astype(np.intp)


def delays(chunk: Chunk) -> pa.Array:
    encoded = chunk.property(DELAY).dictionary_encode()
    return array([delay_level(each) for each in encoded.dictionary.to_pylist()], pa.int32()).take(encoded.indices)


def origin_topic(chunk: Chunk) -> pa.Array:
    """Each distinct combination is interpreted once, because the messages of a consumer group share few."""
    sources = (RETRY_TOPIC, DLQ_ORIGIN_TOPIC, ORIGIN_GROUP)
    return _of_sent_back(chunk, lambda part: _of_distinct(origin_of, part.topic(), *map(part.property, sources)))


def origin_msg_id(chunk: Chunk) -> pa.Array:
    return _of_sent_back(chunk, lambda part: pc.coalesce(part.property(ORIGIN_MESSAGE_ID), part.property(DLQ_ORIGIN_MESSAGE_ID)))


def _of_sent_back(chunk: Chunk, make: Maker) -> pa.Array:
    """The values that `make` returns for the rows in retry and DLQ topics; null in the others."""
    nothing = pa.nulls(len(chunk), pa.string())
    rows, part = chunk.sent_back()
    return nothing if part is None else replaced(nothing, rows, make(part))


def _of_distinct(function: Callable[..., str | None], *columns: pa.Array) -> pa.Array:
    """`function` of the values of each row, called once for each distinct combination."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        _, codes = np.unique(codes * len(encoded.dictionary) + numpy_of(encoded.indices), return_inverse=True)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    examples = zip(*(column.take(array(first)).to_pylist() for column in columns), strict=True)
    return array([function(*example) for example in examples], pa.string()).take(array(codes))


def kind(chunk: Chunk) -> pa.Array:
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
    return array(KINDS, pa.string()).take(array(codes))


def bodies_of(name: str) -> Maker:
    return lambda chunk: chunk.rows.bodies(name).copied()


def body_text(chunk: Chunk) -> pa.Array:
    return text_or_null(chunk.rows.bodies("body").copied())


def inner_index(chunk: Chunk) -> pa.Array:
    inner = chunk.rows.inner
    return pa.nulls(len(chunk.rows), pa.int32()) if inner is None else array(inner, mask=inner < 0)


def corrupt_reason(chunk: Chunk) -> pa.Array:
    """For messages whose record is intact: a failed checksum, overwritten properties, or a requested body that cannot be decompressed."""
    reasons = np.full(len(chunk.rows), None, object)
    if chunk.columns.marks_failed:
        if chunk.rows.decoded is not None and not set(DECOMPRESSED).isdisjoint(chunk.columns.names):
            reasons[chunk.rows.decoded.rows[chunk.rows.decoded.sizes < 0]] = _UNDECODED
        for reason, starts in chunk.rows.faults.items():
            reasons[np.isin(chunk.records.starts, starts)] = reason
        sizes = chunk.records.properties_size
        last = chunk.rows.source.u8[chunk.records.properties_at + np.maximum(sizes, 1) - 1]
        reasons[(sizes > 0) & (last == 0) & (reasons == None)] = PROPERTIES  # noqa: E711
    return array(reasons.tolist(), pa.string()) if (reasons != None).any() else pa.nulls(len(reasons), pa.string())  # noqa: E711
