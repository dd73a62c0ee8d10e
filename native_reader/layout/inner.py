"""Inner batches (5.0+, topics of queue type BatchCQ): one record whose body packs n messages.

A unit: total size i4, magic i4 (0), crc i4 (0), flag i4, body size i4, body, properties size i2, properties.
Nothing in a unit can be checked but its lengths; they must add up exactly, unit by unit and in all.
"""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

import numpy as np

from native_reader.layout.record import Bytes, Index, at

_total_size = struct.Struct(">i").unpack_from
_FLAG, _BODY_SIZE, _BODY = 12, 16, 20
SMALLEST_UNIT = _BODY + 2


class Units(NamedTuple):
    """Messages of inner batches: the flag of each, and where its parts lie."""

    flag: Index
    body_at: Index
    body_size: Index
    properties_at: Index
    properties_size: Index

    @staticmethod
    def at(u8: Bytes, starts: Index) -> Units:
        """Of the units that start there, whose lengths were proven."""
        flag, body_size = (at(u8, ">i4")[starts + field].astype(np.intp) for field in (_FLAG, _BODY_SIZE))
        body_at = starts + _BODY
        properties_size = at(u8, ">i2")[body_at + body_size].astype(np.intp)
        return Units(flag, body_at, body_size, body_at + body_size + 2, properties_size)


def units_of(body: Bytes) -> Index | None:
    """Where the units of an inner batch's body start; None where their lengths do not add up, or there are none."""
    content, starts, sizes, place, last = body.data, array("q"), array("q"), 0, len(body) - SMALLEST_UNIT
    while place <= last:  # each unit says where the next one starts
        starts.append(place)
        (total,) = _total_size(content, place)
        if total < SMALLEST_UNIT:
            return None
        sizes.append(total)
        place += total
    if not starts or place != len(body):
        return None
    begins, totals = np.frombuffer(starts, np.int64).astype(np.intp, copy=False), np.frombuffer(sizes, np.int64)
    body_size = at(body, ">i4")[begins + _BODY_SIZE].astype(np.intp)
    if ((body_size < 0) | (body_size > totals - SMALLEST_UNIT)).any():
        return None
    properties_size = at(body, ">i2")[begins + _BODY + body_size]
    return begins if (properties_size + body_size + SMALLEST_UNIT == totals).all() else None
