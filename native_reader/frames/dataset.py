"""A table that has not been read yet as a dataset of pyarrow: DuckDB passes the columns and the condition of a query to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from native_reader.errors import UseError
from native_reader.frames.arrow_condition import tree_of
from native_reader.frames.implied import fields_of, implied
from native_reader.frames.narrowed import ReadNarrowed
from native_reader.predicate.tree import EVERYTHING


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

    def scanner(self, columns: list[str] | Mapping[str, Any] | None = None, filter: Any = None, **options: Any) -> dataset.Scanner:
        """A scanner that reads these columns, and no more of the log than the condition needs.

        Args:
            columns: Names, or expressions by name.
            filter: An expression of pyarrow. What the engine cannot use of it is applied to what was read.
            **options: Those of `pyarrow.dataset.Scanner.from_batches`.
        """
        wanted, condition = self._wanted(columns, filter), EVERYTHING
        tree = None if filter is None else tree_of(filter)
        if tree is not None:
            condition = implied(tree, self._kinds)
        schema = pa.schema([self.schema.field(name) for name in wanted])
        reader = pa.RecordBatchReader.from_batches(schema, self._read(wanted, condition, False))
        return dataset.Scanner.from_batches(reader, columns=columns, filter=filter, **options)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """Count the rows for which the condition is true. Reads only the columns that it needs.

        Args:
            filter: An expression of pyarrow.
            **options: As for `scanner`.
        """
        return sum(batch.num_rows for batch in self.scanner([], filter, **options).to_batches())

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


def _known(columns: Iterable[str], names: list[str]) -> set[str]:
    return {name for name in columns if name in names}
