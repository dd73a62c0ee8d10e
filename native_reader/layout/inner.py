"""Inner batches (5.0+, topics of queue type BatchCQ): one record whose body contains n messages.

A message in it, called a unit: total size i4, magic i4 (0), crc i4 (0), flag i4, body size i4, body, properties size i2, properties.
Only the lengths in a unit can be checked: they must add up exactly, in each unit and in total.
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
PLACEHOLDER_TAG = "RMQSTORE_LOST"
"""The tag of an inner batch of no messages, which a repair writes in the place of a lost record. Clients of 5.x show nothing of it."""


class Units(NamedTuple):
    """Messages of inner batches: the flag of each, and the positions of its parts."""

    flag: Index
    body_at: Index
    body_size: Index
    properties_at: Index
    properties_size: Index

    @staticmethod
    def at(u8: Bytes, starts: Index) -> Units:
        """The units at those positions; their lengths must be validated already."""
        flag, body_size = (at(u8, ">i4")[starts + field].astype(np.intp) for field in (_FLAG, _BODY_SIZE))
        body_at = starts + _BODY
        properties_size = at(u8, ">i2")[body_at + body_size].astype(np.intp)
        return Units(flag, body_at, body_size, body_at + body_size + 2, properties_size)


def units_of(body: Bytes) -> Index | None:
    """The start of each unit in the body of an inner batch; None if the lengths do not add up or there are no units."""
    content, bounds, place, last = body.data, array("q", [0]), 0, len(body) - SMALLEST_UNIT
    while place <= last:  # the size of each unit leads to the next
        (total,) = _total_size(content, place)
        if total < SMALLEST_UNIT:
            return None
        place += total
        bounds.append(place)
    if not place or place != len(body):
        return None
    ends = np.frombuffer(bounds, np.int64).astype(np.intp, copy=False)
    begins, totals = ends[:-1], ends[1:] - ends[:-1]
    body_size = at(body, ">i4")[begins + _BODY_SIZE].astype(np.intp)
    if ((body_size < 0) | (body_size > totals - SMALLEST_UNIT)).any():
        return None
    properties_size = at(body, ">i2")[begins + _BODY + body_size]
    return begins if (properties_size + body_size + SMALLEST_UNIT == totals).all() else None
