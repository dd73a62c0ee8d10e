"""Times as RocketMQ has them, counted since 1970, and what they are in a time zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def each_moment(times: pa.Array, step: int, value: Callable[[datetime], object], kind: pa.DataType) -> pa.Array:
    """The value of each time, made once for each `step` of microseconds; null where there is no time or the calendar ends.

    Arrow's own functions need the system's time zone data base, even for UTC, and do not know all zones.
    """
    steps, places = np.unique(np.asarray(times.cast(pa.int64()).fill_null(0)) // step, return_inverse=True)
    values = pa.array([_unless_out_of_range(value, number * step) for number in steps.tolist()], kind)
    return pc.if_else(times.is_valid(), values.take(pa.array(places)), pa.scalar(None, kind))


def _unless_out_of_range(value: Callable[[datetime], object], microseconds: int) -> object:
    try:
        return value(EPOCH + timedelta(microseconds=microseconds))
    except (OverflowError, ValueError):  # before the year 1 or after 9999 in that zone
        return None
