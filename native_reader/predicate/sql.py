"""`where`: parse SQL text to a predicate tree. A small subset of SQL with exactly Spark's meaning; all else is an error.

    condition   AND  OR  NOT  ( )  TRUE  FALSE
    comparison  =  ==  !=  <>  <  <=  >  >=  [NOT] IN  [NOT] BETWEEN  [NOT] LIKE [ESCAPE]  [NOT] RLIKE  IS [NOT] NULL
                contains(body_text, 'x')    array_contains(keys, 'x')   arrays_overlap(keys, array('x', 'y'))
    operand     a column, properties['name']
    value       'text'  12  -12  12L  0.5  TRUE  X'CAFE'  TIMESTAMP '2026-01-31 12:00:00Z'

Nothing is cast: comparing a text with a number or a timestamp is an error. Test for null with IS NULL.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import zip_longest
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from native_reader.errors import PredicateError, option_name
from native_reader.predicate.patterns import java_regex, like_regex
from native_reader.predicate.tree import (
    And,
    ArrayContains,
    ArraysOverlap,
    Column,
    Compare,
    Contains,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    RLike,
    Value,
    any_of,
)
from native_reader.sentences import Said, commas, meant, say, told

TEXT, NUMBER, MOMENT, BYTES, TEXTS, PAIRS = "text", "an integer", "a timestamp", "bytes", "an array of texts", "a map"
FLAG, DECIMAL, OTHER = "true or false", "a number", "of a type without conditions"
_EXAMPLES = {
    TEXT: "'text'",
    NUMBER: "12",
    MOMENT: "TIMESTAMP '2026-01-31 12:00:00Z'",
    BYTES: "X'CAFE'",
    FLAG: "TRUE",
    DECIMAL: "0.5",
}
_TYPES = {
    TEXT: "type text",
    NUMBER: "type number",
    MOMENT: "type moment",
    BYTES: "type bytes",
    TEXTS: "type texts",
    PAIRS: "type pairs",
    FLAG: "type flag",
    DECIMAL: "type decimal",
    OTHER: "type other",
}
"""What an error calls each type."""
_SUPPORTED = Said("where supported")
_UNDERSTOOD = ("this", "expression", "expressions", "low", "high", "negate")
_LONGEST = 1 << 20
_DEEPEST = 200
_FARTHEST = 18 * 60
"""The largest difference of a zone from UTC in Java, in minutes."""
_DECIMAL = re.compile(r"(?=\.?[0-9])[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?")
_MOMENT = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}(?::\d{2})?|[A-Za-z]+/[A-Za-z_+\-0-9/]+)?"
)


def parse(text: str, columns: dict[str, str], zone: str | None = None) -> Predicate:
    """Parse a condition. `columns`: the type of each column; `zone`: the time zone of timestamps that name none."""
    import sqlglot
    from sqlglot.errors import ParseError, TokenError

    if len(text) > _LONGEST:
        raise PredicateError(say("where long", length=len(text), most=_LONGEST))
    if _nesting(text) > _DEEPEST:
        raise PredicateError(say("where nested", deepest=_DEEPEST))
    try:
        conditions = sqlglot.parse(text, dialect="spark")
        _refuse_what_spark_refuses(text)
        if len(conditions) != 1 or conditions[0] is None:
            raise PredicateError(say("where no condition", text=repr(text)))
        return _Conversion(text, columns, None if zone is None else moment_zone(zone)).condition(conditions[0])
    except (ParseError, TokenError) as error:
        raise PredicateError(_not_sql(text, error)) from None
    except RecursionError:
        raise PredicateError(Said("where many ors")) from None


def _refuse_what_spark_refuses(text: str) -> None:
    """Reject what sqlglot accepts for other databases: a semicolon, ISNULL, a trailing comma."""
    from sqlglot import TokenType, tokenize

    tokens = tokenize(text, dialect="spark")
    for token, after in zip_longest(tokens, tokens[1:]):
        if token.token_type == TokenType.SEMICOLON:
            raise PredicateError(say("where semicolon", place=token.start + 1, supported=_SUPPORTED))
        if token.token_type in (TokenType.ISNULL, TokenType.NOTNULL):
            raise PredicateError(say("where no null", text=token.text, place=token.start + 1))
        if token.token_type == TokenType.COMMA and (after is None or after.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)):
            raise PredicateError(say("where comma", place=token.start + 1))


def moment_zone(name: str) -> tzinfo:
    """The time zone with that name, as Spark names zones: UTC, Europe/Berlin, +08:00."""
    offset = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::(\d{2}))?", name)
    try:
        if offset and int(offset[2]) * 60 + int(offset[3] or 0) > _FARTHEST:
            raise ValueError
        if offset:
            return datetime.strptime(f"{offset[1]}{int(offset[2]):02}{offset[3] or '00'}", "%z").tzinfo or ZoneInfo("UTC")
        return ZoneInfo("UTC" if name in ("Z", "UTC", "GMT") else name)
    except (ValueError, LookupError, OSError) as error:
        known = available_timezones()
        city = next((each for each in sorted(known) if each.lower().endswith(f"/{name.lower()}")), None)
        near = say("did you mean", near=city) if city else meant(name, known) if "/" in name else Said("nothing")
        raise PredicateError(say("no time zone", option=option_name("time_zone"), name=repr(name), near=near)) from error


class _Conversion:
    """Converts the syntax tree of one text."""

    def __init__(self, text: str, columns: dict[str, str], zone: tzinfo | None) -> None:
        self._text, self._columns, self._zone = text, columns, zone

    def condition(self, node: Any) -> Predicate:
        from sqlglot import exp

        # Reject attributes that we do not understand: another version of sqlglot may add some.
        if unknown := [name for name, value in node.args.items() if value and name not in _UNDERSTOOD]:
            raise self._error(say("where with attribute", what=_named(node), name=unknown[0]), node, _SUPPORTED)
        match node:
            case exp.Paren():
                return self.condition(node.this)
            case exp.And() | exp.Or():
                parts = tuple(map(self.condition, _flat(node)))
                return And(parts) if isinstance(node, exp.And) else any_of(parts)
            case exp.Not():
                return Not(self.condition(node.this))
            case exp.Boolean():
                return And(()) if node.this else Or(())
        result = self._on_column(node)
        # sqlglot 30 marks NOT LIKE in the node itself; earlier versions wrap the node in a Not.
        marked = node.this if isinstance(node, exp.Escape) else node
        return Not(result) if marked.args.get("negate") else result

    def _on_column(self, node: Any) -> Predicate:
        from sqlglot import exp

        match node:
            case exp.Is() if isinstance(node.expression, exp.Null):
                return IsNull(self._column(node.this)[0])
            case exp.In() if node.args.get("expressions"):
                column, kind = self._column(node.this)
                return In(column, tuple(self._value(each, column, kind) for each in node.args["expressions"]))
            case exp.Between():
                bounds = ((">=", node.args["low"]), ("<=", node.args["high"]))
                return And(tuple(self._compared(node.this, operator, bound) for operator, bound in bounds))
            case exp.Escape() if isinstance(node.this, exp.Like):
                return self._like(node.this, node.expression)
            case exp.Like():
                return self._like(node, None)
            case exp.Contains():
                return self._has(node)
            case exp.RegexpLike():
                return self._rlike(node)
            case exp.ArrayContains():
                return ArrayContains(self._words(node.this, node), self._text_of(node.expression))
            case exp.Anonymous(this=str(name), expressions=[words, exp.Array(expressions=[_, *_] as texts)]) if (
                name.lower() == "arrays_overlap"
            ):
                return ArraysOverlap(self._words(words, node), tuple(map(self._text_of, texts)))
        return self._comparison(node)

    def _comparison(self, node: Any) -> Predicate:
        from sqlglot import exp

        operators = {exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
        operator = operators.get(type(node))
        if operator is None:
            raise self._error(say("where not here", what=_named(node)), node, _SUPPORTED)
        left, right = node.this, node.expression
        if isinstance(right, exp.Column | exp.Bracket) and not isinstance(left, exp.Column | exp.Bracket):
            left, right, operator = right, left, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        return self._compared(left, operator, right)

    def _compared(self, left: Any, operator: str, right: Any) -> Predicate:
        column, kind = self._column(left)
        if kind == FLAG and operator not in ("=", "!="):
            raise self._error(say("where no order", column=str(column), type=_type(kind)), left)
        return Compare(column, operator, self._value(right, column, kind))

    def _like(self, node: Any, escape: Any) -> Predicate:
        column, pattern = self._matched(node)
        mark = "\\" if escape is None else self._text_of(escape)
        if len(mark) != 1:
            raise self._error(Said("where escape"), escape)
        after = re.findall(f"{re.escape(mark)}(.?)", pattern, re.DOTALL)
        if wrong := [each for each in after if each not in ("%", "_", mark)]:
            escaped = say("where escaped", mark=repr(mark), character=repr(wrong[0]))
            raise self._error(escaped if wrong[0] else say("where escape ends", mark=repr(mark)), node)
        if mark != "\\":
            pieces = re.findall(f"{re.escape(mark)}.|.", pattern, re.DOTALL)
            pattern = "".join(_escaped(piece[1]) if piece[0] == mark else "\\\\" if piece == "\\" else piece for piece in pieces)
        try:
            like_regex(pattern)
        except ValueError as error:
            raise self._error(say("where like", why=told(error)), node) from None
        return Like(column, pattern)

    def _rlike(self, node: Any) -> Predicate:
        column, pattern = self._matched(node)
        try:
            java_regex(pattern)
        except ValueError as error:
            raise self._error(say("where rlike", why=told(error)), node, Said("where other regex")) from None
        return RLike(column, pattern)

    def _matched(self, node: Any) -> tuple[Column, str]:
        column, kind = self._column(node.this)
        if kind != TEXT:
            raise self._error(say("where not type", column=str(column), type=_type(kind), wanted=_type(TEXT)), node)
        return column, self._text_of(node.expression)

    def _has(self, node: Any) -> Predicate:
        column, kind = self._column(node.this)
        value, literal = self._literal(node.expression)
        if kind not in (TEXT, BYTES) or literal != kind or not isinstance(value, str | bytes):
            raise self._error(say("where contains", column=str(column), type=_type(kind), other=_type(literal)), node)
        return Contains(column, value)

    def _words(self, words: Any, node: Any) -> Column:
        column, kind = self._column(words)
        if kind != TEXTS:
            raise self._error(say("where not type", column=str(column), type=_type(kind), wanted=_type(TEXTS)), node)
        return column

    def _column(self, node: Any) -> tuple[Column, str]:
        """A column or a property, and its type."""
        from sqlglot import exp

        if isinstance(node, exp.Bracket) and isinstance(node.this, exp.Column) and len(node.expressions) == 1:
            column, kind = self._column(node.this)
            if kind == PAIRS:
                return Column(column.name, self._text_of(node.expressions[0])), TEXT
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise self._error(Said("where a column"), node, _SUPPORTED)
        if len(node.parts) > 1:
            raise self._error(say("where prefix", name=node.parts[-1].name), node)
        name = next((column for column in self._columns if column.lower() == node.name.lower()), None)
        if name is None:
            known = commas(self._columns)
            raise self._error(say("no column", name=node.name, near=meant(node.name, self._columns), known=known), node)
        return Column(name), self._columns[name]

    def _value(self, node: Any, column: Column, kind: str) -> Value:
        if kind not in _EXAMPLES:
            hint = {TEXTS: f"array_contains({column}, 'x')", PAIRS: f"{column}['name'] = 'x'"}.get(kind, "df.filter")
            raise self._error(say("where not comparable", column=str(column), type=_type(kind), hint=hint), node)
        if kind == DECIMAL and (number := _decimal(node)) is not None:
            return number
        value, literal = self._literal(node)
        if literal != kind:
            raise self._error(
                say("where other type", column=str(column), type=_type(kind), other=_type(literal), example=_EXAMPLES[kind]), node
            )
        return value

    def _text_of(self, node: Any) -> str:
        value, kind = self._literal(node)
        if not isinstance(value, str):
            raise self._error(say("where text", type=_type(kind)), node)
        return value

    def _literal(self, node: Any) -> tuple[Value, str]:
        """A value, and its type."""
        from sqlglot import exp

        match node:
            case exp.Boolean():
                return bool(node.this), FLAG
            case exp.RawString() | exp.Literal(is_string=True):
                return str(node.this), TEXT
            case exp.Literal():
                return self._number(node, 1), NUMBER
            case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
                return self._number(node.this, -1), NUMBER
            case exp.Cast() | exp.TryCast() if node.is_type("bigint", "int") and node.this.is_number:
                number, _ = self._literal(node.this)
                if node.is_type("int") and not -(2**31) <= int(number) < 2**31:
                    raise self._error(say("where bits", number=repr(number), bits=32), node)
                return number, NUMBER
            case exp.Neg() if isinstance(node.this, exp.TryCast) and node.this.is_type("bigint"):
                return self._number(node.this.this, -1), NUMBER
            case exp.Cast() if node.is_type("timestamptz", "timestamp") and isinstance(node.this, exp.Literal):
                return self._moment(node), MOMENT
            case exp.HexString() if re.fullmatch("([0-9A-Fa-f]{2})*", node.this):
                return bytes.fromhex(node.this), BYTES
            case exp.Null():
                raise self._error(Said("where null"), node)
            case exp.Concat():
                raise self._error(Said("where two texts"), node)
            case exp.Column():
                raise self._error(say("where no column", column=node.sql()), node, _SUPPORTED)
        raise self._error(Said("where a value"), node, _SUPPORTED)

    def _number(self, node: Any, sign: int) -> int:
        if not re.fullmatch("[0-9]+", node.this):
            raise self._error(say("where no integer", text=str(node.this)), node)
        number = sign * int(node.this)
        if not -(2**63) <= number < 2**63:
            raise self._error(say("where bits", number=str(number), bits=64), node)
        return number

    def _moment(self, node: Any) -> int:
        text = node.this.this
        parts = _MOMENT.fullmatch(text.strip())
        time = None if parts is None else _moment_of(parts, self._zone or UTC)
        if parts is None or time is None:
            raise self._error(say("where no moment", text=repr(text), example=_EXAMPLES[MOMENT]), node)
        if self._zone is None and not parts[8]:
            whole = text.strip() if parts[4] else f"{parts[1]}-{parts[2] or '01'}-{parts[3] or '01'} 00:00:00"
            raise self._error(say("no zone", time=f"TIMESTAMP {text!r}", example=say("where zones", time=whole)), node)
        return time

    def _error(self, problem: Said, node: Any, more: Said | None = None) -> PredicateError:
        where = _begin(node, self._text)
        near = self._text[where : where + 30] + ("…" if len(self._text) > where + 30 else "")
        if more is None:
            return PredicateError(say("where near", problem=problem, near=repr(near), place=where + 1))
        return PredicateError(say("where near more", problem=problem, near=repr(near), place=where + 1, more=more))


def _moment_of(parts: re.Match[str], zone: tzinfo) -> int | None:
    """Microseconds from 1970 to a timestamp in Spark's format; None if it is invalid."""
    if not 0 < int(parts[1]) <= 9999:
        return None
    fraction = (parts[7] or "")[:6].ljust(6, "0")
    numbers = [int(each) if each else least for each, least in zip(parts.groups()[:6], (1, 1, 1, 0, 0, 0), strict=True)]
    try:
        local = datetime(*numbers, int(fraction), tzinfo=moment_zone(parts[8]) if parts[8] else zone)  # type: ignore[misc,arg-type]
        return (local - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def _decimal(node: Any) -> float | None:
    """The number that a literal with or without a fraction stands for; None for another node."""
    from sqlglot import exp

    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal) or literal.is_string or not _DECIMAL.fullmatch(literal.this):
        return None
    return float(literal.this) if literal is node else -float(literal.this)


def _flat(node: Any) -> list[Any]:
    """The parts of `a AND b AND c`, or of `a OR b OR c`. Not recursive: a thousand parts would exceed the recursion limit."""
    parts, waiting = [], [node]
    while waiting:
        each = waiting.pop()
        if type(each) is type(node):
            waiting += [each.expression, each.this]
        else:
            parts.append(each)
    return parts


def _escaped(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character


def _named(node: Any) -> Said:
    from sqlglot import exp

    if isinstance(node, exp.Func):
        return Said("where function")
    return Said("where value alone" if isinstance(node, exp.Literal | exp.Column) else "where this")


def _type(kind: str) -> Said:
    return Said(_TYPES[kind])


def _begin(node: Any, text: str) -> int:
    """The approximate position in the text where a node begins."""
    if node is None:
        return 0
    starts = [each.meta["start"] for each in node.walk() if "start" in each.meta]
    if starts:
        first = min(starts)
        # Include a function's name, which precedes its arguments.
        before = re.search(r"[A-Za-z_]\w*\s*\($", text[:first])
        return before.start() if before and type(node).__name__ not in ("Column", "Literal") else int(first)
    literals = [str(each.this) for each in node.walk() if isinstance(each.this, str) and each.this]
    return max(0, text.find(literals[0])) if literals else 0


def _nesting(text: str) -> int:
    deepest = depth = 0
    for each in text:
        depth += (each in "([") - (each in ")]")
        deepest = max(deepest, depth)
    return deepest


def _not_sql(text: str, error: Any) -> Said:
    details = getattr(error, "errors", None) or [{}]
    highlight = details[0].get("highlight") or ""
    where = len(details[0].get("start_context") or "")
    line, column = details[0].get("line"), details[0].get("col")
    if line == 1 and column:
        where = max(0, column - len(highlight))
    near = highlight or text[where : where + 30]
    return say("where no sql", near=repr(near), place=where + 1, supported=_SUPPORTED)
