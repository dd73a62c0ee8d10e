"""A table that has not been read yet as a lazy frame of Polars, which passes the columns, the condition and the limit of a query on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from native_reader.errors import UseError
from native_reader.frames.implied import Call, Field, Literal, Node, ReadNarrowed, combined, implied
from native_reader.predicate.tree import EVERYTHING, Predicate

if TYPE_CHECKING:
    import polars

_OPERATORS = {
    "Eq": "=",
    "NotEq": "!=",
    "Lt": "<",
    "LtEq": "<=",
    "Gt": ">",
    "GtEq": ">=",
    "And": "and",
    "LogicalAnd": "and",
    "Or": "or",
    "LogicalOr": "or",
}
_OF_ONE = {"IsNull": "is_null", "IsNotNull": "is_valid", "Not": "not"}
_BOUNDS = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_CONTAINS = ({"ListExpr": {"Contains": {"nulls_equal": True}}}, {"ListExpr": {"Contains": {"nulls_equal": False}}})
_INSTALL = "pip install 'polars>=1.34'"


def lazy_frame(schema: pa.Schema, kinds: Mapping[str, str], read: ReadNarrowed) -> polars.LazyFrame:
    """The frame. Polars reads it in its own threads, each time that a query needs it."""
    try:
        import polars
        from polars.io.plugins import register_io_source
    except ImportError as error:
        raise UseError(f"a lazy frame needs the package polars, 1.34 or newer: {_INSTALL} ({error})") from None

    def frame_of(batch: pa.RecordBatch) -> polars.DataFrame:
        frame = polars.from_arrow(batch)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def rows(
        columns: list[str] | None, condition: polars.Expr | None, limit: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        names = schema.names if columns is None else columns
        used = {*names, *(() if condition is None else condition.meta.root_names())}
        wanted = tuple(name for name in schema.names if name in used)
        # Polars takes the limit of the rows before it applies the condition, so that must not remove rows here.
        pushed = EVERYTHING if condition is None or limit is not None else _implied(condition, kinds)
        left = limit
        # Polars before 2 needs a frame, also if there are no rows.
        for batch in chain([pa.RecordBatch.from_pylist([], schema).select(wanted)], read(wanted, pushed, limit is not None)):
            frame = frame_of(batch)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield (frame if condition is None else frame.filter(condition)).select(names)
            if left == 0:
                return

    return register_io_source(rows, schema=frame_of(pa.RecordBatch.from_pylist([], schema)).schema)


def _implied(condition: polars.Expr, kinds: Mapping[str, str]) -> Predicate:
    tree = tree_of(condition)
    return EVERYTHING if tree is None else implied(tree, kinds)


def tree_of(expression: polars.Expr) -> Node | None:
    """The parts of the condition; None if Polars does not serialize it, or in another form, or if it is nested too deeply."""
    try:
        return _node(json.loads(expression.meta.serialize(format="json")))
    except Exception:  # The form is not documented, so a version can break it in any way. The rows are then selected by Polars alone.
        return None


def _node(raw: Any) -> Node:
    """A part of the expression. One with a name that is not known here is unknown, because that can change its meaning."""
    if _is_constant(raw):
        return Literal(_value(raw))
    match list(raw.items()):
        case [("Column", str(name))]:
            return Field(name)
        case [("BinaryExpr", {"left": left, "op": str(operator), "right": right} as parts)] if len(parts) == 3:
            name, both = _OPERATORS.get(operator, "unknown"), (_node(left), _node(right))
            return combined(name, both) if name in ("and", "or") else Call(name, both)
        case [("Function", {"input": list(inputs), "function": {"Boolean": function} as named} as parts)] if len(parts) + len(named) == 3:
            return _boolean(function, tuple(map(_node, inputs)))
        case [("Function", {"input": [_, _] as inputs, "function": function} as parts)] if len(parts) == 2 and function in _CONTAINS:
            return Call("contains", tuple(map(_node, inputs)))
    return Call("unknown", ())


def _is_constant(raw: Any) -> bool:
    """Whether it is a literal, or made of literals alone, as a time is before Polars 1.38: each function of these has one result."""
    match list(raw.items()):
        case [("Literal", _)]:
            return True
        case [("Cast", {"expr": inside})]:
            return _is_constant(inside)
        case [("Function", {"input": list(parts), "function": {"TemporalExpr": _} | {"StringExpr": _}})]:
            return all(map(_is_constant, parts))
    return False


def _boolean(function: Any, parts: tuple[Node, ...]) -> Node:
    match function, parts:
        case str(name), (_,) if name in _OF_ONE:
            return Call(_OF_ONE[name], parts)
        case _, (tested, Literal(values)) if function == {"IsIn": {"nulls_equal": False}}:
            listed = values[0].values if len(values) == 1 and hasattr(values[0], "values") else values
            return Call("in", (tested, Literal(listed)))
        case {"IsBetween": {"closed": str(closed)}}, (tested, low, high) if function == {"IsBetween": {"closed": closed}}:
            above, below = _BOUNDS[closed]
            return Call("and", (Call(above, (tested, low)), Call(below, (tested, high))))
    return Call("unknown", parts)


def _value(constant: Any) -> Any:
    """A constant as an Arrow array. Polars evaluates it, because its form differs most between versions."""
    import polars

    expression = polars.Expr.deserialize(BytesIO(json.dumps(constant).encode()), format="json")
    return polars.select(expression).to_series().to_arrow()
