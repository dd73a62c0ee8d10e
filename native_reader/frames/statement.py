"""What the WHERE of an SQL statement surely means in our own conditions. DuckDB applies all of it again, so a part may be unknown here.

DuckDB passes `=`, `<`, `IN` and the like to a dataset by itself, but no function: `list_contains(keys, 'x')` would read the whole log.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from native_reader.arrow import array
from native_reader.frames.implied import Call, Field, Literal, Node, combined, implied
from native_reader.predicate.tree import EVERYTHING, Predicate, any_of

_LONGEST = 1 << 20
_HIDDEN = re.compile(r"\bquery(_table)?\b", re.IGNORECASE)
"""Functions that read a table whose name is in a text."""
_KEEPS = {"this", "alias"}
"""What a name in FROM may have: a sample or new names of columns would change what WHERE means."""
_ENDS = ("order", "group", "distinct", "having", "qualify", "sample")
_UNKNOWN = Call("unknown", ())


class Statement:
    """What of a statement can be passed to a read. A statement that cannot be parsed is no error here: DuckDB reports it."""

    def __init__(self, text: str) -> None:
        self._tree = _parsed(text)
        self._names = _words(text)

    def names(self, known: Mapping[str, object]) -> set[str]:
        """The known names that the text has, in any place of it."""
        return {name for name in known if name.lower() in self._names}

    @property
    def stops_early(self) -> bool:
        """Whether it surely needs only some rows of one table: those that a LIMIT asks for."""
        from sqlglot import exp

        tree = self._tree
        return (
            isinstance(tree, exp.Select)
            and tree.args.get("limit") is not None
            and not any(tree.args.get(name) for name in _ENDS)
            and tree.find(exp.AggFunc, exp.Window, exp.Join) is None
        )

    def count_of(self, table: str) -> int:
        """How often the statement reads a table; at least 1, if it is not understood."""
        return 1 if self._tree is None else len(list(_uses(self._tree, table)))

    def condition(self, table: str, kinds: Mapping[str, str]) -> Predicate:
        """A condition that is true for all rows of the table that the statement needs, and maybe for others."""
        from sqlglot import exp

        if self._tree is None or any(cte.alias.lower() == table for cte in self._tree.find_all(exp.CTE)):
            return EVERYTHING
        found = [_condition_of(use, kinds) for use in _uses(self._tree, table)]
        return EVERYTHING if not found or EVERYTHING in found else any_of(found)


def _parsed(text: str) -> Any:
    """The tree; None if the text is too long, not understood, or can hide a table."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    if len(text) > _LONGEST or _HIDDEN.search(text):
        return None
    log = logging.getLogger("sqlglot")
    was_disabled, log.disabled = log.disabled, True  # it warns of statements that it does not know
    try:
        trees = sqlglot.parse(text, dialect="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        return None
    finally:
        log.disabled = was_disabled
    return trees[0] if len(trees) == 1 else None


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", text[:_LONGEST])}


def _uses(tree: Any, table: str) -> Iterator[Any]:
    from sqlglot import exp

    return (each for each in tree.find_all(exp.Table) if each.name.lower() == table)


def _condition_of(use: Any, kinds: Mapping[str, str]) -> Predicate:
    """The condition for one name in FROM: the WHERE of a SELECT that reads nothing else."""
    from sqlglot import exp

    select = use.parent.parent if isinstance(use.parent, exp.From) else None
    has_more = {name for name, value in use.args.items() if value} - _KEEPS or (use.args.get("alias") and use.args["alias"].columns)
    if not isinstance(select, exp.Select) or has_more or any(select.args.get(name) for name in ("joins", "laterals", "sample", "pivots")):
        return EVERYTHING
    where = select.args.get("where")
    try:
        return EVERYTHING if where is None else implied(_Where(use.alias_or_name, kinds).node(where.this), kinds)
    except RecursionError:
        return EVERYTHING


class _Where:
    """Converts a WHERE on one table."""

    def __init__(self, table: str, kinds: Mapping[str, str]) -> None:
        self._table, self._columns = table.lower(), {name.lower(): name for name in kinds}

    def node(self, node: Any) -> Node:
        """A part of the condition."""
        from sqlglot import exp

        operators = {exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
        if node.args.get("negate"):  # sqlglot 30 marks NOT IN in the node itself
            return _UNKNOWN
        match node:
            case exp.Paren():
                return self.node(node.this)
            case exp.And() | exp.Or():
                return combined("and" if isinstance(node, exp.And) else "or", (self.node(node.this), self.node(node.expression)))
            case exp.Not():
                return Call("not", (self.node(node.this),))
            case exp.EQ() if isinstance(node.expression, exp.Any):
                return self._contains(node.expression.this, node.this)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._compared(operators[type(node)], node)
            case exp.In() if node.args.get("expressions"):
                return self._listed(node)
            case exp.In() if node.args.get("field") is not None:
                return self._contains(node.args["field"], node.this)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return Call("is_null", (self._column(node.this),))
            case exp.ArrayContains() | exp.Contains():
                return self._contains(node.this, node.expression)
            case exp.ArrayOverlaps() if isinstance(node.expression, exp.Array) and node.expression.expressions:
                return combined("or", [self._contains(node.this, each) for each in node.expression.expressions])
            case exp.Like() if "\\" not in str(node.expression.this):
                return self._like(node)
        return _UNKNOWN

    def _compared(self, operator: str, node: Any) -> Node:
        parts = self._operand(node.this), self._operand(node.expression)
        call = Call(operator, parts)
        return _at_least(call) if any(isinstance(part, Field) and part.key is not None for part in parts) else call

    def _listed(self, node: Any) -> Node:
        tested, values = self._operand(node.this), [_literal(each) for each in node.args["expressions"]]
        known = [value.values for value in values if value is not None]
        if len(known) < len(values) or len({each.type for each in known}) > 1:
            return _UNKNOWN
        return _at_least(Call("in", (tested, Literal(pa.concat_arrays(known)))))

    def _contains(self, words: Any, value: Any) -> Node:
        wanted = _literal(value)
        return _UNKNOWN if wanted is None else _at_least(Call("contains", (self._column(words), wanted)))

    def _like(self, node: Any) -> Node:
        """The texts between the wildcards are in the value."""
        pattern = _literal(node.expression)
        if pattern is None or not pa.types.is_string(pattern.values.type):
            return _UNKNOWN
        pieces = [piece for piece in re.split("[%_]", pattern.values[0].as_py()) if piece]
        column = self._column(node.this)
        return combined("and", [_UNKNOWN, *(Call("contains", (column, Literal(array([piece], pa.string())))) for piece in pieces)])

    def _operand(self, node: Any) -> Node:
        return _literal(node) or self._column(node)

    def _column(self, node: Any) -> Node:
        """A column of the table, or one value of a map in it."""
        from sqlglot import exp

        if isinstance(node, exp.Paren):
            return self._column(node.this)
        if isinstance(node, exp.Bracket) and isinstance(node.this, exp.Column) and len(node.expressions) == 1:
            column, key = self._column(node.this), _literal(node.expressions[0])
            is_text = key is not None and pa.types.is_string(key.values.type)
            return Field(column.name, key.values[0].as_py()) if is_text and key and isinstance(column, Field) else _UNKNOWN
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and len(node.parts) <= 2:
            name = self._columns.get(node.name.lower())
            if name is not None and node.table.lower() in ("", self._table):
                return Field(name)
        return _UNKNOWN


def _at_least(call: Call) -> Node:
    """A part that may differ for null, so nothing is known of its opposite."""
    return Call("and", (call, _UNKNOWN))


def _literal(node: Any) -> Literal | None:
    """A text or an integer; None for anything else, which DuckDB may convert."""
    from sqlglot import exp

    sign, value = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    if type(value) is not exp.Literal or (value.is_string and sign < 0):
        return None
    if value.is_string:
        return Literal(array([value.this], pa.string()))
    if not re.fullmatch("[0-9]{1,18}", value.this):
        return None
    return Literal(array([sign * int(value.this)], pa.int64()))
