"""How columns are described, and their Arrow types."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
KEYS_TYPE = pa.list_(pa.field("element", pa.string()))
PROPERTIES_TYPE = pa.map_(pa.string(), pa.string())


class ColumnSpec(NamedTuple):
    """One column of a table other than `messages`. `meaning`: the description in the docs."""

    type: pa.DataType
    meaning: str


class Source(IntEnum):
    """What a column is made from, cheapest first. Filters check conditions in this order."""

    HEAD = 0
    TEXT = 1
    PROPERTIES = 2
    BODY = 3
