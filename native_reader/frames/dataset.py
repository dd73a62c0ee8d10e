"""A table that has not been read yet as a dataset of pyarrow: DuckDB passes the columns and the condition of a query to it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from native_reader.errors import UseError
from native_reader.frames.implied import Call, Field, Literal, Node, ReadNarrowed, fields_of, implied, joined
from native_reader.predicate.tree import EVERYTHING

# `and` and `or` of pyarrow are others: they are null if any part is.
_NAMES = {
    "and_kleene": "and",
    "or_kleene": "or",
    "invert": "not",
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "is_valid": "is_valid",
}
_FALSE_FOR_NULL = (0, 1)
"""MATCH and SKIP of `null_matching_behavior`: without a null in the list, a null is not in it."""


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
        tree = None if filter is None else tree_of(filter)
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
        trees = [tree_of(each) for each in [*expressions, *([] if condition is None else [condition])]]
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


def tree_of(expression: Any) -> Node | None:
    """The parts of the condition; None if pyarrow does not serialize it, or in another form than the known one."""
    try:
        file = pa.ipc.open_file(expression.__reduce__()[1][0])
        return _tree(list(_pairs(file.schema)), file.get_batch(0).columns if file.num_record_batches else [])
    except (pa.ArrowException, ValueError, LookupError, RecursionError):
        return None


def _tree(pairs: Sequence[tuple[str, str]], columns: Sequence[Any]) -> Node:
    """The condition that is listed in prefix order: a name of a kind with a value, for each part."""
    open_calls: list[tuple[str, list[Node], dict[str, Any]]] = [("", [], {})]
    for kind, value in pairs:
        match kind:
            case "call":
                open_calls.append((value, [], {}))
            case "end":
                name, parts, options = open_calls.pop()
                open_calls[-1][1].append(_call(name, parts, options))
            case "field_ref":
                open_calls[-1][1].append(Field(value))
            case "literal":
                open_calls[-1][1].append(Literal(columns[int(value)]))
            case "options":
                open_calls[-1][2].update(dict(columns[int(value)][0].items()))
            case _:
                raise ValueError(f"an expression of pyarrow has a part of the unknown kind {kind!r}")
    ((_, (tree,), _),) = open_calls
    return tree


def _call(name: str, parts: list[Node], options: dict[str, Any]) -> Node:
    match name, parts:
        case (("and_kleene" | "or_kleene"), _):
            return joined(_NAMES[name], parts)
        case "is_null", [_] if options and not options["nan_is_null"].as_py():
            return Call("is_null", tuple(parts))
        case "is_in", [tested] if options and options["null_matching_behavior"].as_py() in _FALSE_FOR_NULL:
            values = options["value_set"].values
            if values.null_count == 0:
                return Call("and", (Call("is_valid", (tested,)), Call("in", (tested, Literal(values)))))
        case "if_else", [Call("is_valid", tested), Call("and", (_, Call("in", (column, _)) as listed)), Literal(nothing)]:
            # How DuckDB 2 writes IN.
            if tested == (column,) and nothing.null_count == len(nothing):
                return listed
    return Call("unknown" if options else _NAMES.get(name, "unknown"), tuple(parts))


def _pairs(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """All metadata of a schema, in order. `schema.metadata` is a dict, and here the same key occurs many times.

    The Arrow C data interface describes the bytes: the number of pairs, then the length and the bytes of each key and value.
    """
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = schema.__arrow_c_schema__()
    at = ctypes.cast(pointer_of(capsule, b"arrow_schema"), ctypes.POINTER(ctypes.c_void_p))[2]
    if at is None:
        return
    count, at = ctypes.c_int32.from_address(at).value, at + 4
    texts = list[str]()
    for _ in range(2 * count):
        length = ctypes.c_int32.from_address(at).value
        texts.append(ctypes.string_at(at + 4, length).decode())
        at += 4 + length
    yield from zip(texts[::2], texts[1::2], strict=True)
