"""`traces`: one row for each record in a trace message; a message that holds none is one row with a reason."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.columns.strings import text
from native_reader.layout.kinds import TRACE_TOPIC, TRACE_TOPIC_PREFIX
from native_reader.layout.trace import (
    ABSENT,
    FIELD_END,
    LAYOUTS,
    MESSAGE_TYPES,
    RECORD_END,
    SHORT_PUB,
    SHORT_PUB_FIELDS,
    TRACE_TYPES,
    TRANSACTION_STATES,
)
from native_reader.predicate.tree import Column, Compare, Like, Or
from native_reader.tables.messages import LARGEST, MessagesPart, in_pieces, integers, pieces, timestamps_of
from native_reader.tables.table import Table, TableRequest

COLUMNS = {
    "trace_type": ColumnSpec(pa.string(), "`Pub`, `SubBefore`, `SubAfter`, `EndTransaction` or `Recall`"),
    "time_stamp": ColumnSpec(TIMESTAMP, "when the send or the consumption began; of a `SubAfter`, when the consumption ended"),
    "topic": ColumnSpec(pa.string(), "the topic of the traced message"),
    "group_name": ColumnSpec(pa.string(), "the producer or consumer group"),
    "msg_id": ColumnSpec(pa.string(), "the `msg_id` of the traced message"),
    "offset_msg_id": ColumnSpec(pa.string(), "its `offset_msg_id`"),
    "tags": ColumnSpec(pa.string(), "its tags"),
    "keys": ColumnSpec(pa.string(), "its keys, separated by spaces"),
    "msg_type": ColumnSpec(pa.string(), "`Normal_Msg`, `Trans_Msg_Half`, `Trans_msg_Commit`, `Delay_Msg` or `Order_Msg`"),
    "body_length": ColumnSpec(pa.int32(), "bytes of its body"),
    "store_host": ColumnSpec(pa.string(), "the broker that it was sent to"),
    "client_host": ColumnSpec(pa.string(), "the client, as the trace names it (4.8.0), else the address that sent the trace"),
    "cost_time": ColumnSpec(pa.int32(), "milliseconds of the send or the consumption"),
    "retry_times": ColumnSpec(pa.int32(), "how often the message was retried before"),
    "status": ColumnSpec(pa.string(), "`success` or `failed`; null in records without it"),
    "request_id": ColumnSpec(pa.string(), "the same in a `SubBefore` and its `SubAfter`"),
    "transaction_id": ColumnSpec(pa.string(), "the id of the transaction"),
    "transaction_state": ColumnSpec(pa.string(), "`COMMIT_MESSAGE`, `ROLLBACK_MESSAGE` or `UNKNOW`"),
    "from_transaction_check": ColumnSpec(pa.bool_(), "whether the broker asked for the state"),
    "region_id": ColumnSpec(pa.string(), "the region of the broker"),
    "context_code": ColumnSpec(pa.int32(), "how the consumption ended: 0 success, 1 time out, 2 exception, 3 returned null, 4 failed"),
    "reason": ColumnSpec(pa.string(), "why some values are missing; null if the record is complete"),
    "store_timestamp": ColumnSpec(TIMESTAMP, "when the trace message was stored"),
    "physical_offset": ColumnSpec(pa.int64(), "offset of the trace message in the log"),
    "record_index": ColumnSpec(pa.int32(), "the index of the record in the message, from 0"),
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
}
_TRACES = Or((Compare(Column("topic"), "=", TRACE_TOPIC), Like(Column("topic"), TRACE_TOPIC_PREFIX.replace("_", r"\_") + "%")))
_READ = ("body", "born_host", "store_timestamp", "physical_offset", "store")

_NUMBERS = ("body_length", "cost_time", "retry_times", "context_code")
_FLAGS = ("success", "from_transaction_check")
_FIELDS = tuple(dict.fromkeys(name for layout in LAYOUTS for name in layout.fields))
_NOWHERE = 1 << 30
_PLACES = np.array(
    [[layout.fields.index(name) + 1 if name in layout.fields else _NOWHERE for name in _FIELDS] for layout in LAYOUTS]
    + [[_NOWHERE] * len(_FIELDS)]
)
"""By layout and field: its place in the record. The last layout is that of an unknown type."""
_UNKNOWN = len(LAYOUTS)
_LEAST = np.array([layout.least for layout in LAYOUTS] + [0])

_UNDECODED, _TOO_LARGE, _NO_RECORD = "the body cannot be decompressed", "the body is larger than 4 MiB", "the body has no record"
_REASONS = array(
    [
        *(f"{layout.type} has fewer than {layout.least} fields" for layout in LAYOUTS),
        "the type is unknown",
        *(f"the value of {name} is invalid" for name in _FIELDS),
    ]
)
"""By number: records that are too short, by layout; then an unknown type; then values, by field."""


def _parts(request: TableRequest) -> list[MessagesPart]:
    return [*pieces(request, _TRACES)]


def _batches(part: MessagesPart, projection: Projection) -> Iterator[pa.RecordBatch]:
    for batch in part.reading(projection, *_READ):
        for messages in in_pieces(batch):
            yield _spans(messages)


def _spans(messages: pa.RecordBatch) -> pa.RecordBatch:
    bodies = messages.column("body")
    is_large = pc.greater(pc.binary_length(bodies), LARGEST)
    records = pc.split_pattern(pc.if_else(pc.fill_null(is_large, True), b"", bodies), bytes([RECORD_END]))
    message = numpy_of(pc.list_parent_indices(records))
    lines = records.flatten()
    filled = np.flatnonzero(numpy_of(pc.greater(pc.binary_length(lines), 0)))
    message, columns = message[filled], _decoded(lines.take(array(filled)))
    firsts = np.searchsorted(message, np.arange(len(messages)))
    columns["record_index"] = array((np.arange(len(message)) - firsts[message]).astype(np.int32))

    without = np.flatnonzero(np.bincount(message, minlength=len(messages)) == 0)
    if len(without):
        reasons = pc.if_else(pc.is_null(bodies), _UNDECODED, pc.if_else(pc.fill_null(is_large, False), _TOO_LARGE, _NO_RECORD))
        message = np.concatenate([message, without])
        order = array(np.argsort(message, kind="stable"))
        for name, column in columns.items():
            more = reasons.take(array(without)) if name == "reason" else pa.nulls(len(without), column.type)
            columns[name] = pa.concat_arrays([column, more]).take(order)
        message.sort(kind="stable")

    of = messages.take(array(message))
    sender = pc.replace_substring_regex(of.column("born_host"), r":[0-9]*\z|[\[\]]", "")
    columns["client_host"] = pc.coalesce(columns["client_host"], sender)
    columns |= {name: of.column(name) for name in ("store_timestamp", "physical_offset", "store")}
    return TRACES.batch(columns)


def _decoded(lines: pa.Array) -> dict[str, pa.Array]:
    """The columns that are made from the records alone."""
    split = pc.split_pattern(lines, bytes([FIELD_END]))
    starts, counts = numpy_of(split.offsets)[:-1].astype(np.int64), numpy_of(split.value_lengths())
    values = text(split.flatten())
    trace_type = pc.index_in(values.take(array(starts)), array(TRACE_TYPES))
    layouts = numpy_of(trace_type.fill_null(_UNKNOWN))
    layouts = np.where((layouts == 0) & (counts == SHORT_PUB_FIELDS), SHORT_PUB, layouts)

    columns, problems = {"trace_type": array(TRACE_TYPES).take(trace_type)}, np.full(len(lines), -1)
    for number, name in reversed(list(enumerate(_FIELDS))):  # so that the first problem of a record is kept
        places = _PLACES[layouts, number]
        value = values.take(array(np.where(places < counts, starts + places, 0), mask=places >= counts))
        value = pc.if_else(pc.is_in(value, array(["", ABSENT])), None, value)
        columns[name] = _typed(name, value)
        problems[_lost(value, columns[name])] = _UNKNOWN + 1 + number
    problems = np.where((counts < _LEAST[layouts]) | (layouts == _UNKNOWN), layouts, problems)
    columns["status"] = pc.if_else(columns.pop("success"), "success", "failed")
    columns["reason"] = _REASONS.take(array(problems, mask=problems < 0))
    return columns


def _typed(name: str, value: pa.Array) -> pa.Array:
    """The values of a field as its column has them; null where they are invalid."""
    if name == "time_stamp":
        return timestamps_of(integers(value, pa.int64()))
    if name in _NUMBERS:
        return integers(value, pa.int32())
    if name in _FLAGS:
        return pc.index_in(pc.utf8_lower(value), array(["false", "true"])).cast(pa.bool_())
    if name == "msg_type":
        numbers = integers(value, pa.int32())
        return array(MESSAGE_TYPES).take(pc.if_else(pc.is_in(numbers, array(range(len(MESSAGE_TYPES)), pa.int32())), numbers, None))
    if name == "transaction_state":
        return pc.if_else(pc.is_in(value, array(TRANSACTION_STATES)), value, None)
    return value


def _lost(value: pa.Array, typed: pa.Array) -> NDArray[np.bool_]:
    """Which values are there but invalid."""
    lost: NDArray[np.bool_] = numpy_of(pc.and_(pc.is_valid(value), pc.is_null(typed)))
    return lost


TRACES = Table("traces", COLUMNS, _parts, batches=_batches)
