"""A table that has not been read yet as a dataset of pyarrow: DuckDB passes the columns and the condition of a query to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from native_reader.arrow import array
from native_reader.errors import UseError
from native_reader.frames.implied import Call, Field, Literal, Node, ReadNarrowed, combined, fields_of, implied
from native_reader.predicate.tree import EVERYTHING

_FUNCTIONS = {
    "functions_boolean.yaml": {"and": "and", "or": "or", "not": "not"},
    "functions_comparison.yaml": {
        "equal": "=",
        "not_equal": "!=",
        "lt": "<",
        "lte": "<=",
        "gt": ">",
        "gte": ">=",
        "is_null": "is_null",
        "is_not_null": "is_valid",
    },
}
"""The functions of Substrait that are known here, by the file that defines them."""

_LITERALS = {
    1: pa.bool_(),
    2: pa.int64(),
    3: pa.int64(),
    5: pa.int64(),
    7: pa.int64(),
    12: pa.string(),
    13: pa.binary(),
    27: pa.timestamp("us", "UTC"),
}
"""The types of the literals that are known here, by their field in Substrait's Literal."""

_MOST_CALLS = 16
"""Each level of calls doubles what pyarrow writes: https://github.com/apache/arrow/issues/48761."""


class ScanDataset(dataset.InMemoryDataset):  # type: ignore[misc]
    """A dataset whose rows are read when a scanner is used.

    DuckDB recognizes subclasses of pyarrow's Dataset only, and calls `scanner`. The base has the schema and no rows, so what pyarrow
    would do with the base alone is refused: it would find nothing.
    """

    def __init__(self, schema: pa.Schema, kinds: Mapping[str, str], read: ReadNarrowed, name: str) -> None:
        super().__init__(schema.empty_table())
        self._kinds, self._read, self._name = kinds, read, name

    def __repr__(self) -> str:
        return f"<ScanDataset of {self._name}>"

    def scanner(self, columns: list[str] | Mapping[str, Any] | None = None, filter: Any = None, **options: Any) -> ScanScanner:
        """A scanner that reads these columns, and no more of the log than the condition needs.

        Args:
            columns: Names, or expressions by name.
            filter: An expression of pyarrow. What the engine cannot use of it is applied to what was read.
            **options: Those of `pyarrow.dataset.Dataset.scanner`.
        """
        wanted, condition = self._wanted(columns, filter), EVERYTHING
        tree = None if filter is None else tree_of(filter, self.schema)
        if tree is not None:
            condition = implied(tree, self._kinds)

        def select(rows: pa.RecordBatch | pa.Table) -> dataset.Scanner:
            # In the thread that asks: those of Arrow could free memory of Python when the program has ended.
            return dataset.InMemoryDataset(rows).scanner(columns=columns, filter=filter, **{**options, "use_threads": False})

        empty = pa.schema([self.schema.field(name) for name in wanted]).empty_table()
        return ScanScanner(select(empty).projected_schema, partial(self._read, wanted, condition), select)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """Count the rows for which the condition is true. Reads only the columns that it needs.

        Args:
            filter: An expression of pyarrow.
            **options: As for `scanner`.
        """
        return self.scanner([], filter, **options).count_rows()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.scanner().__arrow_c_stream__(requested_schema)

    def _wanted(self, columns: list[str] | Mapping[str, Any] | None, condition: Any) -> tuple[str, ...]:
        """The columns to read: the selected ones, and those that the condition or an expression uses."""
        names = self.schema.names
        if columns is None:
            return tuple(names)
        expressions = list(columns.values()) if isinstance(columns, Mapping) else []
        trees = [tree_of(each, self.schema) for each in [*expressions, *([] if condition is None else [condition])]]
        used = set[str]() if isinstance(columns, Mapping) else _known(columns, names)
        for tree in trees:
            used |= set(names if tree is None else fields_of(tree))
        return tuple(name for name in names if name in used) or self._smallest()

    def _smallest(self) -> tuple[str, ...]:
        """One column, to count rows with: a number, if there is one."""
        numbers = [field.name for field in self.schema if pa.types.is_primitive(field.type)]
        return tuple((numbers or self.schema.names)[:1])

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise UseError("a dataset of a scan has no such method. Pass columns= and filter= to its scanner(), to_table() or to_batches()")

    filter = get_fragments = join = join_asof = replace_schema = sort_by = _refuse

    def __reduce__(self) -> Any:
        raise UseError("a dataset of a scan cannot be pickled. Send the path and the options, and open the store there")


class ScanScanner:
    """One read for a query, with the methods of pyarrow's Scanner. The rows are read in the thread that asks for them.

    pyarrow's own reads ahead in threads of Arrow, which call Python. If a program takes a few rows and ends, they still do: the process
    hangs or aborts.
    """

    def __init__(
        self, schema: pa.Schema, read: Callable[[bool], Iterator[pa.RecordBatch]], select: Callable[[pa.RecordBatch], dataset.Scanner]
    ) -> None:
        self.projected_schema = schema
        self._read, self._select = read, select

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows as an iterator of batches."""
        return self._selected(stops_early=False)

    def to_reader(self) -> pa.RecordBatchReader:
        """Read the rows as a stream, which is what DuckDB asks for."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        """Read all rows into memory."""
        return pa.Table.from_batches(self.to_batches(), self.projected_schema)

    def head(self, num_rows: int) -> pa.Table:
        """Read the first rows, and no more of the log than that needs."""
        kept, left = [], num_rows
        for batch in self._selected(stops_early=True):
            kept.append(batch.slice(0, left))
            left -= len(kept[-1])
            if left <= 0:
                break
        return pa.Table.from_batches(kept, self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        """Read the rows with these numbers."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        """Count the rows."""
        return sum(batch.num_rows for batch in self.to_batches())

    def _selected(self, stops_early: bool) -> Iterator[pa.RecordBatch]:
        for batch in self._read(stops_early):
            yield from self._select(batch).to_batches()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)


def _known(columns: Iterable[str], names: list[str]) -> set[str]:
    return {name for name in columns if name in names}


def tree_of(expression: Any, schema: pa.Schema) -> Node | None:
    """The parts of the condition; None if it is too long, or pyarrow cannot say it in Substrait, or says it in another form."""
    try:
        plan = _fields(_substrait(expression, schema))
        return _Substrait(plan, schema).node(_message(_fields(_message(plan, 3)), 1))
    except (pa.ArrowException, ImportError, ValueError, LookupError):
        return None


def _substrait(expression: Any, schema: pa.Schema) -> bytes:
    if str(expression).count("(") > _MOST_CALLS:
        raise ValueError("the expression has too many calls")
    return bytes(expression.to_substrait(schema, allow_arrow_extensions=True))


class _Substrait:
    """Reads an expression of Substrait, the public form of pyarrow's: https://substrait.io/expressions/field_references.

    A part with a field that is not known here is unknown, because the field can change its meaning.
    """

    def __init__(self, plan: _Fields, schema: pa.Schema) -> None:
        self._columns = tuple(map(Field, schema.names))
        files = dict[int, str]()
        for raw in _messages(plan, 1):
            uri = _fields(raw)
            files[_number(uri, 1)] = _message(uri, 2).decode().rpartition("/")[2]
        self._functions = dict[int, str]()
        for raw in _messages(plan, 2):
            function = _fields(_message(_fields(raw), 3))
            known = _FUNCTIONS.get(files.get(_number(function, 1), ""), {})
            self._functions[_number(function, 2)] = known.get(_message(function, 3).decode(), "unknown")

    def node(self, raw: bytes) -> Node:
        """A part of the expression."""
        expression = _fields(raw)
        match list(expression):
            case [1]:
                return self._literal(_message(expression, 1))
            case [2]:
                return self._column(_fields(_message(expression, 2)))
            case [3]:
                return self._call(_fields(_message(expression, 3)))
            case [6]:
                return self._in(_fields(_message(expression, 6)))
            case [8]:
                # What it is for null is lost: that differs between the options of pyarrow's is_in.
                return Call("and", (self._listed(_fields(_message(expression, 8))), Call("unknown", ())))
        return self._unknown()

    def _unknown(self) -> Node:
        """A part that can use each column."""
        return Call("unknown", self._columns)

    def _literal(self, raw: bytes) -> Node:
        """One value. A null, and a value of another type, is an unknown part without columns."""
        match list(_fields(raw).items()):
            case [(number, [value])] if number in _LITERALS and isinstance(value, bytes) == (number in (12, 13)):
                return Literal(array([_value(value, _LITERALS[number])], _LITERALS[number]))
        return Call("unknown", ())

    def _column(self, selection: _Fields) -> Node:
        segment = _fields(_message(selection, 1))
        field = _fields(_message(segment, 2))
        if set(selection) == {1, 4} and not _message(selection, 4) and set(segment) == {2} and set(field) <= {1}:
            return self._columns[_number(field, 1)]
        return self._unknown()

    def _call(self, function: _Fields) -> Node:
        arguments = [_fields(raw) for raw in _messages(function, 4)]
        if any(set(argument) != {3} for argument in arguments):
            return self._unknown()
        parts = tuple(self.node(_message(argument, 3)) for argument in arguments)
        name = self._functions[_number(function, 1)] if set(function) <= {1, 3, 4} else "unknown"
        return combined(name, parts) if name in ("and", "or") else Call(name, parts)

    def _listed(self, choice: _Fields) -> Node:
        """A value that is in a list of literals."""
        values = [self.node(raw) for raw in _messages(choice, 2)]
        tested = self.node(_message(choice, 1))
        arrays = [value.values for value in values if isinstance(value, Literal)]
        if set(choice) != {1, 2} or len(arrays) < len(values) or len({array.type for array in arrays}) > 1:
            return Call("unknown", (tested, *values))
        return Call("in", (tested, Literal(pa.concat_arrays(arrays))))

    def _in(self, choice: _Fields) -> Node:
        """How DuckDB 2 writes IN: if the column is not null then whether it is in the list, else null."""
        match [_fields(raw) for raw in _messages(choice, 1)]:
            case [clause] if set(choice) == {1, 2} and set(clause) == {1, 2} and self._is_null(_message(choice, 2)):
                tested, listed = self.node(_message(clause, 1)), self.node(_message(clause, 2))
                match tested, listed:
                    case Call("is_valid", (column,)), Call("and", (Call("in", (same, _)) as found, _)) if column == same:
                        return found
                return Call("unknown", (tested, listed))
        return self._unknown()

    @staticmethod
    def _is_null(raw: bytes) -> bool:
        expression = _fields(raw)
        return list(expression) == [1] and list(_fields(_message(expression, 1))) == [29]


_Fields = dict[int, list[Any]]
"""The fields of a message of protobuf by their number: each is an int or bytes."""


def _fields(message: bytes) -> _Fields:
    fields, at = _Fields(), 0
    value: int | bytes
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            value, at = _varint(message, at)
        elif key & 7 in (1, 2, 5):
            size, at = _varint(message, at) if key & 7 == 2 else (8 if key & 7 == 1 else 4, at)
            value, at = message[at : at + size], at + size
        else:
            raise ValueError(f"a message of protobuf has the unknown wire type {key & 7}")
        fields.setdefault(key >> 3, []).append(value)
    if at != len(message):
        raise ValueError("a message of protobuf ends inside a field")
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        value |= (message[at] & 127) << shift
        at += 1
        if message[at - 1] < 128:
            return value, at
    raise ValueError("a number of protobuf has more than 10 bytes")


def _messages(fields: _Fields, number: int) -> list[bytes]:
    """A field of messages, texts or bytes."""
    values = fields.get(number, [])
    if not all(isinstance(value, bytes) for value in values):
        raise ValueError(f"field {number} of a message of protobuf is a number")
    return values


def _message(fields: _Fields, number: int) -> bytes:
    """A field that is one message, text or bytes."""
    (value,) = _messages(fields, number)
    return value


def _number(fields: _Fields, number: int) -> int:
    """A field that is a number: protobuf does not write 0."""
    (value,) = fields.get(number, [0])
    if not isinstance(value, int):
        raise ValueError(f"field {number} of a message of protobuf is not a number")
    return value


def _value(raw: int | bytes, kind: pa.DataType) -> Any:
    if isinstance(raw, bytes):
        return raw.decode() if pa.types.is_string(kind) else raw
    return bool(raw) if pa.types.is_boolean(kind) else raw - (raw >> 63 << 64)
