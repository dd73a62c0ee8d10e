"""Keys and values of the RocksDB database `config/rdb` (5.3.2+, configManagerVersion=v2). Big-endian.

    prefix      the rest of the key                                                      value
    1, 3, 2     size of the topic's name i2, name                                        1, its settings as JSON
    1, 4, 2     size of the group's name i2, name                                        1, its settings as JSON
    1, 1, 2     size of the group i2, group, 1, size of the topic i2, topic, 1, queue i4  committed offset i8
    1, 2, 2     the same                                                                 pulled offset i8

A prefix: table prefix i1, table number i2, record prefix i1.
"""

from __future__ import annotations

import struct

COMMITTED, PULLED, TOPICS, GROUPS = b"\x01\x00\x01\x02", b"\x01\x00\x02\x02", b"\x01\x00\x03\x02", b"\x01\x00\x04\x02"

_LENGTH, _QUEUE, _VALUE = struct.Struct(">H"), struct.Struct(">i"), struct.Struct(">q")
_CTRL_1, _JSON = b"\x01", b"\x01"


def name_in(key: bytes, prefix: bytes) -> str:
    """The name in the key of settings."""
    return key[len(prefix) + _LENGTH.size :].decode("utf-8", "replace")


def json_in(value: bytes) -> bytes:
    """The JSON in the value of settings."""
    return value.removeprefix(_JSON)


def queue_in(key: bytes, prefix: bytes) -> tuple[str, str, int | None]:
    """Group, topic and queue in the key of an offset; None for an invalid queue."""
    rest, names = key[len(prefix) :], []
    for _ in range(2):
        (length,) = _LENGTH.unpack(rest[: _LENGTH.size].rjust(_LENGTH.size, b"\0"))
        names.append(rest[_LENGTH.size : _LENGTH.size + length].decode("utf-8", "replace"))
        rest = rest[_LENGTH.size + length :].removeprefix(_CTRL_1)
    queue = _QUEUE.unpack(rest)[0] if len(rest) == _QUEUE.size else -1
    return names[0], names[1], queue if queue >= 0 else None


def offset_in(value: bytes) -> int | None:
    """The offset of a group; None if it is invalid."""
    offset = _VALUE.unpack(value)[0] if len(value) == _VALUE.size else -1
    return offset if offset >= 0 else None
