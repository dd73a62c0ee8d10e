"""How columns are described, and their Arrow types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from native_reader.columns.chunk import Chunk

TIMESTAMP = pa.timestamp("us", tz="UTC")
KEYS_TYPE = pa.list_(pa.field("element", pa.string()))
PROPERTIES_TYPE = pa.map_(pa.string(), pa.string())


class ColumnSpec(NamedTuple):
    """One column of a table other than `messages`. `default`: included if no columns are named; `what`: the description in the docs."""

    type: pa.DataType
    default: bool
    what: str


Maker = Callable[["Chunk"], pa.Array]
HEAD_FIELD, TEXT, PROPERTY, BODY = range(4)


class MessageColumn(NamedTuple):
    """All about one column of `messages`. `cost`: what it is made from; a filter checks cheap columns first.

    `what`: its meaning in the docs. `default`: included if no columns are named. `single`: the property that it needs.
    """

    type: pa.DataType
    cost: int
    make: Maker
    what: str
    default: bool = False
    of_message: bool = False
    single: str | None = None

    @property
    def differs_in_batch(self) -> bool:
        """Whether the messages of one inner batch can have different values."""
        return self.of_message or self.cost >= PROPERTY
