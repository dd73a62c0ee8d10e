"""A condition of Polars, taken apart.

Polars shows the parts of an expression only as JSON, in a form that differs between versions. What is not known here becomes a call that
nothing is read from.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

from native_reader.frames.implied import Call, Field, Literal, Node, joined

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


def tree_of(expression: polars.Expr) -> Node | None:
    """The parts of the condition; None if Polars does not serialize it, or if it is nested too deeply."""
    from polars.exceptions import PolarsError

    try:
        return _node(json.loads(expression.meta.serialize(format="json")))
    except (PolarsError, ValueError, RecursionError):
        return None


def _node(raw: Any) -> Node:
    match raw:
        case {"Column": str(name)}:
            return Field(name)
        case _ if _is_constant(raw):
            return Literal(_value(raw))
        case {"BinaryExpr": {"left": left, "op": str(operator), "right": right}}:
            name, parts = _OPERATORS.get(operator, "unknown"), (_node(left), _node(right))
            return joined(name, parts) if name in ("and", "or") else Call(name, parts)
        case {"Function": {"input": list(parts), "function": {"Boolean": function}}}:
            return _boolean(function, tuple(map(_node, parts)))
        case {"Function": {"input": [_, _] as parts, "function": {"ListExpr": {"Contains": _} | "Contains"}}}:
            return Call("contains", tuple(map(_node, parts)))
    return Call("unknown", ())


def _is_constant(raw: Any) -> bool:
    """Whether it is a literal, or made of literals alone, as a time is before Polars 1.38: each function of these has one result."""
    match raw:
        case {"Literal": _}:
            return True
        case {"Cast": {"expr": inside}}:
            return _is_constant(inside)
        case {"Function": {"input": list(parts), "function": {"TemporalExpr": _} | {"StringExpr": _}}}:
            return all(map(_is_constant, parts))
    return False


def _boolean(function: Any, parts: tuple[Node, ...]) -> Node:
    match function, parts:
        case str(name), (_,) if name in _OF_ONE:
            return Call(_OF_ONE[name], parts)
        case (("IsIn" | {"IsIn": {"nulls_equal": False}}), (tested, Literal(values))):
            listed = values[0].values if len(values) == 1 and hasattr(values[0], "values") else values
            return Call("in", (tested, Literal(listed)))
        case {"IsBetween": {"closed": str(closed)}}, (tested, low, high) if closed in _BOUNDS:
            above, below = _BOUNDS[closed]
            return Call("and", (Call(above, (tested, low)), Call(below, (tested, high))))
    return Call("unknown", parts)


def _value(constant: Any) -> Any:
    """A constant as an Arrow array. Polars evaluates it, because its form differs most between versions."""
    import polars

    expression = polars.Expr.deserialize(BytesIO(json.dumps(constant).encode()), format="json")
    return polars.select(expression).to_series().to_arrow()
