"""What brokers 5.0+ write of pop consumers, which take messages out for a while: checkpoints and acknowledgements, as JSON.

In the log (topic `rmq_sys_REVIVE_LOG_…`, and before in the timer topic):

    tag   body
    ck    t topic, c group, q queue, pt time, it milliseconds, so first queue offset, n number of messages, d their offsets after `so`
    ack   t, c, q, pt, ao queue offset of a message
    bAck  t, c, q, pt, aol queue offsets of messages

In the database `kvStore` (5.3.2+, popConsumerKVServiceEnable), family `popState`, a row for each message that is not acknowledged:

    visible again i8, group, `@`, topic, `@`, queue i4, `@`, queue offset i8
    popTime, groupId, topicId, queueId, retryFlag (1, 2: taken from the retry topic of the group), invisibleTime, offset, …
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.json import ParseOptions, ReadOptions, read_json

from native_reader.layout.origins import POP_RETRY_SEPARATORS, pop_retry_topic

REVIVE_TOPIC_PREFIX = "rmq_sys_REVIVE_LOG_"
CHECKPOINT, ACK, BATCH_ACK = "ck", "ack", "bAck"
"""The tags."""
POP_DATABASE, POP_STATE = "kvStore", "popState"
MOST_POPPED = 127
"""A broker has one byte for the number of messages in a checkpoint."""

_INTEGER = "-?[0-9]{1,18}"
_VALUE = rf'(?:"[^"\\\x00-\x1f]*"|{_INTEGER}|true|false|null|\[(?:{_INTEGER}(?:,{_INTEGER})*)?\])'
_FLAT = rf'\A\{{"[A-Za-z]+":{_VALUE}(?:,"[A-Za-z]+":{_VALUE})*\}}\z'
"""One object on one line, so that many of them can be parsed at once. Names of topics and groups have nothing to escape."""
_FIELDS = pa.schema(
    [
        *((name, pa.string()) for name in ("t", "c")),
        *((name, pa.int64()) for name in ("q", "pt", "it", "so", "n", "ao")),
        *((name, pa.list_(pa.int64())) for name in ("d", "aol")),
    ]
)
_PARSING = ParseOptions(explicit_schema=_FIELDS, unexpected_field_behavior="ignore")


class Held(NamedTuple):
    """A message that a pop consumer took and did not acknowledge: since when and until when it is invisible, in milliseconds."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    popped: int
    visible: int


def fields_of(texts: pa.StringArray) -> pa.Table:
    """The fields of these bodies, a row for each. All are null in a body that is something else."""
    is_flat = pc.fill_null(pc.match_substring_regex(texts, _FLAT), False)
    return _parsed(pc.if_else(is_flat, texts, "{}"))


def _parsed(objects: pa.Array) -> pa.Table:
    if not len(objects):
        return _FIELDS.empty_table()
    content = "\n".join(objects.to_pylist()).encode()
    try:
        return read_json(pa.BufferReader(content), ReadOptions(use_threads=False, block_size=len(content) + 1), _PARSING).select(
            _FIELDS.names
        )
    except pa.ArrowInvalid:  # of a wrong type, or twice in one object
        if len(objects) == 1:
            return pa.table([pa.nulls(1, field.type) for field in _FIELDS], _FIELDS)
        middle = len(objects) // 2
        return pa.concat_tables([_parsed(objects[:middle]), _parsed(objects[middle:])])


def held_in(value: bytes) -> Held | None:
    """A row of `POP_STATE`; None if it is something else."""
    try:
        row = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    numbers = [_number(row, name) for name in ("queueId", "offset", "popTime", "invisibleTime")]
    group, topic = row.get("groupId"), row.get("topicId")
    if not (isinstance(group, str) and isinstance(topic, str)) or None in numbers:
        return None
    queue_id, offset, popped, invisible = (number or 0 for number in numbers)
    retried = _number(row, "retryFlag") or 0
    if retried:
        topic = pop_retry_topic(topic, group, POP_RETRY_SEPARATORS[min(retried, len(POP_RETRY_SEPARATORS)) - 1])
    return Held(group, topic, queue_id, offset, popped, popped + invisible)


def _number(row: dict[str, Any], name: str) -> int | None:
    value = row.get(name, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else None
