"""How columns are described, and their Arrow types."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from native_reader.columns.chunk import Chunk

TIMESTAMP = pa.timestamp("us", tz="UTC")
KEYS_TYPE = pa.list_(pa.field("element", pa.string()))
PROPERTIES_TYPE = pa.map_(pa.string(), pa.string())


class ColumnSpec(NamedTuple):
    """One column of a table other than `messages`. `default`: included if no columns are named; `meaning`: the description in the docs."""

    type: pa.DataType
    default: bool
    meaning: str


Maker = Callable[["Chunk"], pa.Array]


class Source(IntEnum):
    """What a column is made from, cheapest first. Filters check conditions in this order."""

    HEAD = 0
    TEXT = 1
    PROPERTIES = 2
    BODY = 3


class MessageColumn(NamedTuple):
    """All about one column of `messages`. `meaning`: its meaning in the docs.

    `of_message`: made from the head, but the messages of one inner batch can differ. `single`: the one property it is made from.
    """

    type: pa.DataType
    source: Source
    make: Maker
    meaning: str
    of_message: bool = False
    single: str | None = None

    @property
    def differs_in_batch(self) -> bool:
        """Whether the messages of one inner batch can have different values."""
        return self.of_message or self.source >= Source.PROPERTIES
