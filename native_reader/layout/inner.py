"""Inner batches (5.0+, topics of queue type BatchCQ): one record whose body packs n messages.

A unit: total size i4, magic i4 (0), crc i4 (0), flag i4, body size i4, body, properties size i2, properties.
Nothing in a unit can be checked but its lengths; they must add up exactly, unit by unit and in all.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_UNIT = struct.Struct(">iiiii")
_PROPERTIES_SIZE = struct.Struct(">h")
SMALLEST_UNIT = _UNIT.size + _PROPERTIES_SIZE.size


class Unit(NamedTuple):
    """One message of an inner batch: its flag, and where its parts lie in the body."""

    flag: int
    body_at: int
    body_size: int
    properties_at: int
    properties_size: int


def units_of(body: bytes | memoryview) -> list[Unit] | None:
    """The units of an inner batch's body; None where their lengths do not add up, or there are none."""
    units, at = [], 0
    while at + SMALLEST_UNIT <= len(body):
        total, _, _, flag, body_size = _UNIT.unpack_from(body, at)
        body_at = at + _UNIT.size
        if body_size < 0 or total < SMALLEST_UNIT or total > len(body) - at or body_size > total - SMALLEST_UNIT:
            return None
        (properties_size,) = _PROPERTIES_SIZE.unpack_from(body, body_at + body_size)
        if properties_size < 0 or SMALLEST_UNIT + body_size + properties_size != total:
            return None
        units.append(Unit(flag, body_at, body_size, body_at + body_size + 2, properties_size))
        at += total
    return units if units and at == len(body) else None
