"""Single records, read from a few bytes: what they say of their place, and what a queue entry must say of them.

A record whose file has a wrong name is structurally whole, and only its physical offset is not its place. So nothing here compares
the two.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from native_reader.layout.begin import number, read_size
from native_reader.layout.properties import NAME_END, TAGS, VALUE_END
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import (
    BORN_IPV6,
    HEAD_SIZE,
    MAGIC_V1,
    MAGIC_V2,
    PREPARED,
    ROLLBACK,
    SMALLEST_RECORD,
    STORE_IPV6,
    TRANSACTION,
    head_size,
)

_read_fixed = struct.Struct(">ii4xi4xqqi").unpack_from
"""Size, magic, queue, queue offset, physical offset and flags."""
_read_short = struct.Struct(">h").unpack_from
_read_time = struct.Struct(">q").unpack_from
MAGIC_BEGIN = MAGIC_V1.to_bytes(4, signed=True)[:3]
"""The bytes that begin both magics."""
_BORN_HOST_AT = 48
_IPV4_HOST, _IPV6_HOST = 8, 20
_PREPARED_OR_ROLLED_BACK = (PREPARED, ROLLBACK)
_TAG = bytes([VALUE_END]) + TAGS.encode() + bytes([NAME_END])


class Record(NamedTuple):
    """What a record says of itself."""

    topic: bytes
    queue_id: int
    queue_offset: int
    physical_offset: int
    size: int
    sys_flag: int
    store_time: int
    store_host: bytes
    tag_hash: int

    @property
    def is_queued(self) -> bool:
        """Whether a broker makes an entry for it: not for transactions of 4.0 to 4.2 that are not committed."""
        return self.sys_flag & TRANSACTION not in _PREPARED_OR_ROLLED_BACK

    @property
    def queue(self) -> tuple[str, int]:
        """Its topic and queue."""
        return self.topic.decode("utf-8", "replace"), self.queue_id


def record_in(content: bytes, at: int = 0) -> Record | None:
    """The record that begins there, if all of it is in these bytes and its lengths add up; else None."""
    if at < 0 or at + HEAD_SIZE > len(content):
        return None
    size, magic, queue_id, queue_offset, offset, flag = _read_fixed(content, at)
    if magic not in (MAGIC_V1, MAGIC_V2) or size < SMALLEST_RECORD or at + size > len(content):
        return None
    head, wide = head_size(flag), int(magic == MAGIC_V2)
    (body,) = read_size(content, at + head - 4)
    topic_at = at + head + max(0, body) + 1 + wide
    if topic_at + 2 > at + size:
        return None
    topic_size = content[topic_at - 1] if not wide else number(content[topic_at - 2 : topic_at], signed=False)
    properties_at = topic_at + topic_size + 2
    if properties_at > at + size or properties_at + _read_short(content, properties_at - 2)[0] != at + size:
        return None
    time_at = at + _BORN_HOST_AT + (_IPV6_HOST if flag & BORN_IPV6 else _IPV4_HOST)
    host = content[time_at + 8 : time_at + 8 + (_IPV6_HOST if flag & STORE_IPV6 else _IPV4_HOST)]
    (time,) = _read_time(content, time_at)
    topic, properties = content[topic_at : properties_at - 2], content[properties_at : at + size]
    return Record(topic, queue_id, queue_offset, offset, size, flag, time, host, _hash_of_tag(properties))


def record_without_body(content: bytes, rest: bytes, size: int) -> Record | None:
    """As `record_in`, of a long record of that size: its first bytes, and its last ones after the body."""
    if len(content) < HEAD_SIZE:
        return None
    stored, _, _, _, _, flag = _read_fixed(content, 0)
    head = head_size(flag)
    if stored != size or len(content) < head:
        return None
    short = bytearray(content[:head] + rest)
    short[:4] = len(short).to_bytes(4)
    short[head - 4 : head] = bytes(4)
    found = record_in(bytes(short))
    return None if found is None else found._replace(size=size)


def body_ends_at(content: bytes) -> int | None:
    """How many bytes of the record that begins so are before the end of its body; None if they are not a record's."""
    if len(content) < HEAD_SIZE:
        return None
    size, magic, _, _, _, flag = _read_fixed(content, 0)
    head = head_size(flag)
    if magic not in (MAGIC_V1, MAGIC_V2) or len(content) < head:
        return None
    end = head + number(content[head - 4 : head])
    return end if head <= end < size else None


def _hash_of_tag(properties: bytes) -> int:
    """Java's hash of the tag as a broker reads it: the last value of TAGS that is not empty, up to the next separator; 0 without one."""
    field = bytes([VALUE_END]) + properties
    begin = len(field)
    while (begin := field.rfind(_TAG, 0, begin)) >= 0:
        value, _, _ = field[begin + len(_TAG) :].partition(bytes([VALUE_END]))
        if value:
            return _hash_of(value)
    return 0


@lru_cache(4096)
def _hash_of(tag: bytes) -> int:
    return java_hash(tag.decode("utf-8", "replace"))
