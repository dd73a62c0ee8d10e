"""Makes the tables of a part from the numbers and hashes of the records of one segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from native_reader.layout.arrays import order_of
from native_reader.layout.record import Index, Mask
from native_reader.summary.part import FACTS, GROUPS, KEYS, RECORDS, Facts
from native_reader.summary.pieces import KEYS_AT_ONCE, ROWS_AT_ONCE
from native_reader.summary.texts import TextCodes

Place = tuple[bytes, int]
Ints = NDArray[np.signedinteger[Any]]
Narrow = NDArray[np.int32]


class Seen(NamedTuple):
    """What a pass saw of records, in log order. `place`: the number of their topic and queue. `key_row`: the record of each key."""

    position: Ints
    size: Ints
    time: Ints
    queue_offset: Ints
    flags: Ints
    place: Narrow
    opaque: Mask
    keyless: Mask
    key_row: Ints
    key: Narrow


_WIDE, _NARROW = np.empty(0, np.int64), np.empty(0, np.int32)
NOTHING = Seen(_WIDE, _NARROW, _WIDE, _WIDE, _NARROW, _NARROW, np.empty(0, np.bool_), np.empty(0, np.bool_), _WIDE, _NARROW)


class Tables(NamedTuple):
    """The tables of a part. `others`: those besides the groups, by the name of their file."""

    groups: pa.Table
    others: Mapping[str, pa.Table]


def tables_of(seen: Seen, places: Sequence[Place], texts: Mapping[str, TextCodes]) -> Tables:
    """The tables of a segment. `places`: topic and queue id by number. `texts`: by column."""
    order = order_of(seen.place)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    records = [column[order] for column in (seen.position, seen.size, seen.time, seen.queue_offset, seen.flags)]
    by_hash = order_of(seen.key)
    keys = [seen.key[by_hash], rank[seen.key_row[by_hash]]]
    others = {"records": pa.table(records, schema=RECORDS), "keys": pa.table(keys, schema=KEYS)}
    if texts:
        others["texts"] = pa.table([codes.column(order) for codes in texts.values()], list(texts))
    return Tables(_groups(seen, order, places), others)


def _groups(seen: Seen, order: Index, places: Sequence[Place]) -> pa.Table:
    counts = np.bincount(seen.place, minlength=len(places))
    present = np.flatnonzero(counts)
    firsts = (np.cumsum(counts) - counts)[present]
    columns = [pa.array([places[place][0] for place in present.tolist()], pa.binary())]
    columns += [np.array([places[place][1] for place in present.tolist()], np.int64), counts[present]]
    columns += [_reduced(np.add, values[order].astype(np.int64), firsts) for values in (seen.size, seen.opaque, seen.keyless)]
    for values in (seen.time, seen.queue_offset):
        columns += [_reduced(each, values[order], firsts) for each in (np.minimum, np.maximum)]
    return pa.table(columns, schema=GROUPS)


def _reduced(function: np.ufunc, values: Ints, firsts: Index) -> Ints:
    reduced: Ints = function.reduceat(values, firsts) if len(firsts) else values
    return reduced


def write_groups(groups: pa.Table, facts: Facts, sink: object) -> None:
    """Write the file of groups."""
    pq.write_table(groups.replace_schema_metadata({FACTS: facts.to_json()}), sink, compression="zstd")


def encoded(table: pa.Table) -> pa.Buffer:
    """A Parquet file. Numbers are stored as small differences, texts as numbers of a list: few texts are different.

    Readers get plain texts: Arrow's own schema, which says that they are encoded, is left out.
    """
    is_text = any(map(pa.types.is_dictionary, table.schema.types))
    encoding = None if is_text else dict.fromkeys(table.column_names, "DELTA_BINARY_PACKED")
    how: dict[str, Any] = {"compression": "zstd", "use_dictionary": is_text, "column_encoding": encoding, "store_schema": not is_text}
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=KEYS_AT_ONCE if table.schema == KEYS else ROWS_AT_ONCE, **how)
    return sink.getvalue()
