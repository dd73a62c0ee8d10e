"""A table that has not been read yet, and the forms in which other libraries take it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from native_reader.checks import LARGEST, MOST_JOBS, whole
from native_reader.conditions import type_name
from native_reader.errors import UseError
from native_reader.frames.implied import ReadNarrowed
from native_reader.predicate.tree import Predicate
from native_reader.scan.progress import Watch

if TYPE_CHECKING:
    import polars
    from pyarrow.dataset import Dataset

    from native_reader.scan.run import Run


class Lazy(ABC):
    """A table that has not been read yet, readable through Arrow interfaces."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""

    @abstractmethod
    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Read the rows as an iterator of batches."""

    def to_reader(self, jobs: int = 1) -> pa.RecordBatchReader:
        """Read the rows as an Arrow RecordBatchReader, which other libraries take as a stream.

        Args:
            jobs: How many parts are read in parallel.

        Raises:
            OptionError: `jobs` is not a number from 1 to 1000.
            StoreError: As for `to_batches`, while the reader is used.

        Examples:
            >>> with store.messages(columns="topic").to_reader() as reader:
            ...     sum(batch.num_rows for batch in reader)
            255
        """
        return pa.RecordBatchReader.from_batches(self.schema, self._streamed(jobs))

    def to_table(self, jobs: int = 1, progress: Watch = False, **of_datasets: object) -> pa.Table:
        """Read all rows into memory.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `to_batches`.
            **of_datasets: None exist. A filter or columns, as for a dataset of pyarrow, are refused.

        Raises:
            StoreError: As for `to_batches`.
            UseError: An argument of pyarrow's datasets was given.

        Examples:
            >>> store.messages(columns="topic,body_size").to_table().num_rows
            255
        """
        _refuse_as_dataset(of_datasets)
        return pa.Table.from_batches(self.to_batches(jobs, progress), self.schema)

    def head(self, count: int, **of_datasets: object) -> pa.Table:
        """Read the first rows, and no more of the log than that needs.

        Args:
            count: How many rows, at most.
            **of_datasets: As for `to_table`.

        Raises:
            OptionError: `count` is negative.
            StoreError: As for `to_batches`.

        Examples:
            >>> store.messages(columns="physical_offset").head(2).to_pylist()
            [{'physical_offset': 0}, {'physical_offset': 388}]
        """
        _refuse_as_dataset(of_datasets)
        kept, left = [], whole("head", count, 0, LARGEST)
        for batch in self._from_first():
            kept.append(batch.slice(0, left))
            left -= len(kept[-1])
            if left <= 0:
                break
        return pa.Table.from_batches(kept, self.schema)

    def to_polars(self, jobs: int = 1) -> polars.LazyFrame:
        """Make a lazy frame of Polars. A query on it reads what `messages` with its columns and conditions would read.

        Args:
            jobs: How many parts are read in parallel, unless a limit ends the read early.

        Raises:
            OptionError: `jobs` is not a number from 1 to 1000.
            UseError: Polars is not installed, or too old.
            StoreError: As for `to_batches`, while a query runs.

        Examples:
            >>> import polars as pl
            >>> frame = store.messages().to_polars()
            >>> frame.filter(pl.col("topic") == "orders").select(pl.len()).collect().item()
            122
        """
        from native_reader.frames.polars_frame import lazy_frame

        return lazy_frame(self.schema, self._kinds(), self._reader_of(jobs))

    def to_pyarrow_dataset(self, jobs: int = 1) -> Dataset:
        """Make a dataset of pyarrow, to which DuckDB passes the columns and the conditions of a query. A query then reads only those.

        Args:
            jobs: How many parts are read in parallel.

        Raises:
            OptionError: `jobs` is not a number from 1 to 1000.
            StoreError: As for `to_batches`, while a query runs. DuckDB raises an error of its own, with the text.

        Examples:
            >>> import duckdb
            >>> messages = store.messages().to_pyarrow_dataset()
            >>> duckdb.sql("select count(*) from messages where topic = 'orders'").fetchall()
            [(122,)]
        """
        from native_reader.frames.dataset import ScanDataset

        one = self._copied()
        return ScanDataset(one.schema, one._kinds(), one._reader_of(jobs), repr(self))

    def _noted(self, note: Callable[[Run], object], stops_early: bool, jobs: int, progress: Watch) -> Iterator[pa.RecordBatch]:
        """The rows. Each run is passed on before it is read."""
        return self.to_batches(jobs, progress)

    def _copied(self) -> Lazy:
        """The same without views, which pyarrow cannot filter."""
        return self

    def _kinds(self) -> dict[str, str]:
        """The columns that conditions can name, with their types."""
        return {field.name: type_name(field.type) for field in self.schema}

    def _reader_of(self, jobs: int) -> ReadNarrowed:
        whole("jobs", jobs, 1, MOST_JOBS)

        def read(columns: tuple[str, ...], condition: Predicate, stops_early: bool) -> Iterator[pa.RecordBatch]:
            one = self._narrowed(columns, condition, stops_early)
            for batch in one._from_first() if stops_early else one._streamed(jobs):
                yield batch.select(list(columns))

        return read

    def _narrowed(self, columns: Collection[str], condition: Predicate, stops_early: bool) -> Lazy:
        """The table with at least those columns, and at least the rows for which the condition is true: the caller selects again."""
        return self

    def _streamed(self, jobs: int) -> Iterator[pa.RecordBatch]:
        """The rows for another library, which may stop early."""
        return self.to_batches(jobs)

    def _from_first(self) -> Iterator[pa.RecordBatch]:
        """The rows, for a reader that stops early."""
        return self.to_batches()

    def __iter__(self) -> Iterator[Any]:
        raise UseError(f"a {type(self).__name__} cannot be iterated. Use .to_batches() for batches, .to_table().to_pylist() for rows")

    def __len__(self) -> int:
        raise UseError(f"a {type(self).__name__} has no length. Use .count_rows() for rows, len(scan.schema) for columns")

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: object) -> object:
        raise UseError(
            f"a {type(self).__name__} cannot be indexed. Select columns with .messages(columns='topic,body'), rows with where= or .head(10)"
        )

    def __getattr__(self, name: str) -> Any:
        if name in _INSTEAD:
            raise AttributeError(f"a {type(self).__name__} has no {name}. Use {_INSTEAD[name]}", name=name, obj=self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)


_INSTEAD = {
    "to_pandas": ".to_table().to_pandas()",
    "to_pylist": ".to_table().to_pylist()",
    "lazy": ".to_polars()",
    "to_arrow": ".to_table()",
    "to_dataset": ".to_pyarrow_dataset()",
    "to_duckdb": ".to_pyarrow_dataset(), and duckdb.sql('from dataset')",
    "scanner": ".to_pyarrow_dataset().scanner(), or .to_batches()",
    "filter": ".messages(where='...')",
    "select": ".messages(columns='topic,body')",
    "columns": ".schema.names",
    "show": ".head(10)",
    "count": ".count_rows()",
    "collect": ".to_table()",
}
"""What to use instead of names from other libraries."""


def _refuse_as_dataset(arguments: Mapping[str, object]) -> None:
    """pyarrow datasets take columns and a filter on each read."""
    if arguments:
        raise UseError(
            f"{next(iter(arguments))}= is not supported: a scan is not a pyarrow dataset. "
            "Use .messages(columns=..., where=...), or .to_pyarrow_dataset()"
        )
