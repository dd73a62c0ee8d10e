"""Records that stand for what is lost. Brokers and clients decode them; consumers get no message of them, or one with a mark.

An ordinary message becomes an inner batch of no messages, which clients of 5.x unpack to nothing. Its body is never empty: a client
up to 5.1.4 stops for ever at a body of length 0. In the broker's own queues, other records do no harm:

    delay     its REAL_TOPIC is the half topic, so the broker discards it when it is due
    half      it was born in 1970, so the broker neither checks nor delivers it
    op        its body is the queue offset 0, which is in no hurry to be removed twice
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import NamedTuple

from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.kinds import DELAY_TOPIC, HALF_TOPIC, OP_TOPIC
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import SMALLEST_RECORD
from native_reader.repair.refusals import refusal
from native_reader.writing.records import INNER_BATCH, NEED_UNWRAP, ROLLBACK, Message, encode, pack_properties

_COMPRESSED = 0x1
_MOST_FILLED = 256 << 10
"""A broker that starts reads a record as a whole."""
_SEPARATOR = b"\x02"
SMALLEST_FILLER = SMALLEST_RECORD - 1 + len(PLACEHOLDER_TAG)
"""With its whole topic."""


class _Form(NamedTuple):
    """What is stored in the place of a lost message of some topic, apart from what makes it longer."""

    body: bytes
    properties: bytes
    sys_flag: int = 0
    born: int | None = None


_NO_MESSAGES = zlib.compress(b"")
_TAGGED = pack_properties({"TAGS": PLACEHOLDER_TAG})


@cache
def _form(topic: str, queue_id: int) -> _Form:
    if topic == DELAY_TOPIC:
        names = {"DELAY": str(queue_id + 1), "REAL_TOPIC": HALF_TOPIC, "REAL_QID": "0"}
        return _Form(b"0", pack_properties(names))
    if topic == HALF_TOPIC:
        return _Form(b"0", _TAGGED, born=1)
    if topic == OP_TOPIC:  # these records are small: there is no room for a tag
        return _Form(b"0", b"")
    return _Form(_NO_MESSAGES, _TAGGED, _COMPRESSED | NEED_UNWRAP | INNER_BATCH)


@cache
def smallest_placeholder(topic: str, queue_id: int) -> int:
    """The size of the smallest record that can stand for a lost message of a topic."""
    form = _form(topic, queue_id)
    return len(encode(Message(topic=topic, body=form.body, properties=form.properties)))


def code_of(topic: str, time: int) -> int:
    """The tags code of its queue entry: a tag that no consumer asks for; of a delayed message the due time, which has passed."""
    return time if topic == DELAY_TOPIC else 0 if topic == OP_TOPIC else java_hash(PLACEHOLDER_TAG)


def placeholder(queue: tuple[str, int], slot: int, offset: int, room: int, time: int) -> bytes:
    """A record for a lost message. It has `room` bytes, or fewer if a filler fits after it."""
    topic, queue_id = queue
    form, least = _form(topic, queue_id), smallest_placeholder(topic, queue_id)
    slack = room - least
    if slack < 0:
        raise refusal("no room", offset=offset, size=room)
    properties, body = form.properties, form.body
    if slack < SMALLEST_FILLER:
        # Both ways in which brokers parse properties pass empty ones; the op topic's consumer reads a number.
        body, properties = (body + b"0" * slack, properties) if topic == OP_TOPIC else (body, properties + _SEPARATOR * slack)
    message = Message(
        topic=topic, body=body, properties=properties, queue_id=queue_id, queue_offset=slot, sys_flag=form.sys_flag,
        born_timestamp=time if form.born is None else form.born, store_timestamp=time,
    )  # fmt: skip
    return encode(message, offset)


def filler(offset: int, room: int, time: int) -> bytes:
    """A record that rolls back a transaction (4.0 to 4.2): brokers put it into no queue. It has at most `room` bytes."""
    size = room if room <= _MOST_FILLED else min(_MOST_FILLED, room - SMALLEST_FILLER)
    topic = PLACEHOLDER_TAG[: size - SMALLEST_RECORD + 1]
    message = Message(
        topic=topic, body=bytes(size - SMALLEST_RECORD + 1 - len(topic)), sys_flag=ROLLBACK, born_timestamp=time, store_timestamp=time
    )
    return encode(message, offset)
