"""How columns are described, and their Arrow types."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from native_reader.errors import SchemaError
from native_reader.sentences import commas, meant, say

ALL = "*"
"""The name for all columns."""

TIMESTAMP = pa.timestamp("us", tz="UTC")
KEYS_TYPE = pa.list_(pa.field("element", pa.string()))
PROPERTIES_TYPE = pa.map_(pa.string(), pa.string())


class ColumnSpec(NamedTuple):
    """One column of a table other than `messages`. `meaning`: the description in the docs."""

    type: pa.DataType
    meaning: str


DECOMPRESSED = ("body", "body_text")
"""The columns of `messages` that are made from decompressed bodies."""


def selected(columns: str | Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """The requested columns: names in a sequence or in a text with commas; `*` is all."""
    names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else list(columns)
    if names == [ALL]:
        return tuple(known)
    for name in names:
        if name not in known:
            raise SchemaError(say("no column", name=name, near=meant(name, known), known=commas(known)))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SchemaError(say("column twice", name=twice))
    return tuple(names)


class ColumnSource(IntEnum):
    """What a column is made from, cheapest first. Filters check conditions in this order."""

    HEAD = 0
    TEXT = 1
    PROPERTIES = 2
    BODY = 3
