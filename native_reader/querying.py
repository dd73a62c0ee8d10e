"""An SQL statement of DuckDB over the tables of a store. DuckDB may read no file and no network, and writes to nothing.

Conditions and columns of the statement decide what is read of the log: those that DuckDB passes on, and of the others those that
`frames/statement.py` understands. DuckDB applies all of them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa

from native_reader.columns.schema import COLUMNS, DEFAULT_COLUMNS
from native_reader.errors import OptionError, UseError, option_name, shown
from native_reader.frames.dataset import ScanDataset
from native_reader.frames.lazy import Lazy
from native_reader.frames.statement import Statement
from native_reader.predicate.tree import Predicate, all_of
from native_reader.scan.progress import Progress, Watch
from native_reader.scan.run import Run
from native_reader.sentences import Said, commas, meant, say
from native_reader.storage.local import linked

MESSAGES = "messages"
_ROWS = 256
"""At most in one batch: DuckDB holds it whole, and a body can have 4 MiB."""
_FARTHEST = 12
"""Hours from UTC of the zones without a place that DuckDB has on both sides."""
_TABLE = re.compile(r"Table with name (.+?) does not exist")
_COLUMN = re.compile(r'column "([^"]+)" not found|does not have a column named "([^"]+)"')
_OF_TEXT = ("Parser", "Syntax", "Binder", "Catalog", "Permission")
"""Kinds of errors that say something of the statement. Others may have a value of a row, which is not shown."""
_NEXT = {"Conversion": "sql try cast", "Invalid Input": "sql try each", "Out of Range": "sql try each"}
"""What to do after an error of that kind."""
_AS_THEY_ARE = {
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"),
    *("boolean", "varchar", "blob", "float", "double", "timestamp with time zone"),
}
"""Types that text formats have, as DuckDB names their ids."""
_AS_OTHERS = {"decimal": "DOUBLE", "hugeint": "BIGINT", "uhugeint": "BIGINT"}


class _Stopped(Exception):
    """Nobody waits for the rows any more."""


class Query:
    """One statement over the tables of a store. Nothing is read yet; iterate it once for its batches.

    Attributes:
        runs: The reads of the log, each with its report. They are known when the rows were read.

    Examples:
        >>> query = store.sql("SELECT topic, count(*) AS messages FROM messages WHERE topic = 'orders' GROUP BY topic")
        >>> query.to_table().to_pylist()
        [{'topic': 'orders', 'messages': 122}]
    """

    def __init__(
        self,
        text: str,
        tables: Mapping[str, tuple[str, ...]],
        open_table: Callable[[str, tuple[str, ...]], Lazy],
        *,
        zone: str = "UTC",
        is_plain: bool = False,
        jobs: int = 1,
        progress: Watch = False,
    ) -> None:
        """`tables`: the columns of each table. `open_table`: makes one, with these columns."""
        if not isinstance(text, str) or not text.strip():
            raise OptionError(say("sql no query", text=shown(text)))
        self._text, self._tables, self._open, self._zone, self._is_plain = text, tables, open_table, zone, is_plain
        self._jobs, self._progress = jobs, progress
        self._statement = Statement(text)
        self._failed: BaseException | None = None
        self._is_stopped = False
        self.runs: list[Run] = []

    def to_table(self) -> pa.Table:
        """Read all rows into memory.

        Raises:
            StoreError: As for `batches`.

        Examples:
            >>> store.sql("SELECT count(*) AS queues FROM queues").to_table().num_rows
            1
        """
        with self.batches() as (schema, batches):
            return pa.Table.from_batches(batches, schema)

    @contextmanager
    def batches(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """Enter it for the columns, and an iterator that reads the rows batch by batch.

        Raises:
            OptionError: The statement is wrong, or it is no query.
            UseError: DuckDB is not installed.
            StoreError: As for `Scan.to_batches`.

        Examples:
            >>> with store.sql("SELECT topic FROM messages LIMIT 2").batches() as (schema, batches):
            ...     schema.names, sum(batch.num_rows for batch in batches)
            (['topic'], 2)
        """
        # DuckDB looks for no signal in most of its work: it works in a thread, and this one can be interrupted.
        with linked({}) as folder, closing(_connected(folder)) as connection, ThreadPoolExecutor(1) as thread:
            try:
                reader = thread.submit(self._begun, connection).result()
                yield reader.schema, self._read(thread, reader)
            finally:
                self._is_stopped = True
                connection.interrupt()

    def _begun(self, connection: Any) -> Any:
        import duckdb

        try:
            connection.execute("SET TimeZone = ?", [_zone_of(self._zone)])
            for name in self._tables:
                connection.register(name, self._dataset(name))
            connection.execute("SET lock_configuration = true")
            kinds = [each.type for each in connection.extract_statements(self._text)]
            if kinds != [duckdb.StatementType.SELECT]:
                raise OptionError(Said("sql only" if len(kinds) < 2 else "sql several"))
            found = connection.sql(self._text)
            found = found.project(_projected(found.columns, found.types, self._is_plain))
            return (found.to_arrow_reader if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader)(_ROWS)
        except duckdb.Error as error:
            raise self._said(error) from None

    def _read(self, thread: ThreadPoolExecutor, reader: Any) -> Iterator[pa.RecordBatch]:
        import duckdb

        while True:
            try:
                batch = thread.submit(next, reader, None).result()
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self._said(error) from None
            if batch is None:
                return
            yield batch

    def _dataset(self, name: str) -> Any:
        """The table as DuckDB takes it. Of messages, it has the default columns, and others that the statement names."""
        columns = self._tables[name]
        if name == MESSAGES:
            named = self._statement.names(COLUMNS)
            columns = tuple(column for column in columns if column in DEFAULT_COLUMNS or column in named)
        table = self._open(name, columns)
        known, is_head = self._statement.condition(name, table._kinds()), self._statement.stops_early
        is_only = sum(map(self._statement.count_of, self._statement.names(self._tables))) == 1
        progress = self._progress if is_only and callable(self._progress) else None

        def read(columns: tuple[str, ...], condition: Predicate, stops_early: bool) -> Iterator[pa.RecordBatch]:
            is_closing = False

            def watch(state: Progress) -> None:
                # A read that is closed reports once more. An error there would reach nobody: Python prints it with a traceback.
                if not is_closing:
                    self._check()
                    if progress is not None:
                        progress(state)

            try:
                one = table._narrowed(columns, all_of((known, condition)), stops_early or is_head)
                batches = one._noted(self.runs.append, stops_early or is_head, self._jobs, watch)
                try:
                    for batch in batches:
                        self._check()
                        yield batch.select(list(columns))
                finally:
                    is_closing = True
                    del batches
            except Exception as error:
                self._failed = error
                raise

        return ScanDataset(table.schema, table._kinds(), read, repr(table))

    def _check(self) -> None:
        """End the read that nobody waits for."""
        if self._is_stopped:
            raise _Stopped

    def _said(self, error: BaseException) -> BaseException:
        """What went wrong, in few words. An error of the read itself reaches us through DuckDB, as a long text."""
        if self._failed is not None:
            return self._failed
        kind, _, text = str(error).partition("\n")[0].partition(" Error: ")
        if not kind.endswith(_OF_TEXT):
            return OptionError(say("sql hidden", name=kind, next=Said(_NEXT.get(kind, "nothing"))))
        if found := _TABLE.search(text):
            known = commas(self._tables)
            return OptionError(say("sql no table", name=repr(found[1]), near=meant(found[1], self._tables), known=known))
        if found := _COLUMN.search(text):
            names = self._statement.names(self._tables)
            name, columns = found[1] or found[2], [column for table in self._tables if table in names for column in self._tables[table]]
            return OptionError(say("sql no column", name=repr(name), near=meant(name, columns)))
        return OptionError(say("sql wrong", why=text.strip().rstrip(".")))


def _connected(folder: str) -> Any:
    """A DuckDB in memory. What does not fit there goes to this folder."""
    try:
        import duckdb
    except ImportError as error:
        raise UseError(say("sql no duckdb", error=str(error))) from None
    # Without external access there are no files, no network and no extensions, and SQL cannot turn it on again.
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "python_enable_replacements": "false",
        "temp_directory": folder,
    }
    return duckdb.connect(":memory:", config=settings)


def _projected(names: Iterable[str], types: Iterable[Any], is_plain: bool) -> str:
    """The columns, each with a name of its own. A sum of integers has 128 bits in DuckDB, which other tools read as a decimal."""
    names = list(names)
    taken, parts = set[str](), []
    for number, (name, type_) in enumerate(zip(names, types, strict=True), 1):
        kind = str(type_)
        wanted = _plain_type(type_) if is_plain else "BIGINT" if kind in ("HUGEINT", "UHUGEINT") else kind
        own, count = name, 2
        while own in taken or (own != name and own in names):
            own, count = f"{name}_{count}", count + 1
        taken.add(own)
        parts.append((f"#{number}" if wanted == kind else f"CAST(#{number} AS {wanted})") + f" AS {_quoted(own)}")
    return ", ".join(parts)


def _plain_type(kind: Any) -> str:
    """The type of DuckDB in which text formats get a value of this one: JSON has lists and objects, and no dates or decimals."""
    match kind.id:
        case "list" | "array":
            return f"{_plain_type(dict(kind.children)['child'])}[]"
        case "map":
            return f"MAP(VARCHAR, {_plain_type(dict(kind.children)['value'])})"
        case "struct" if all(name for name, _ in kind.children):
            return f"STRUCT({', '.join(f'{_quoted(name)} {_plain_type(each)}' for name, each in kind.children)})"
        case known if known in _AS_THEY_ARE and str(kind) != "JSON":
            return str(kind)
    return _AS_OTHERS.get(kind.id, "VARCHAR")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _zone_of(name: str) -> str:
    """The name that DuckDB has for a time zone: it knows none like +08:00."""
    found = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?00)?", name)
    if found is not None and int(found[2]) <= _FARTHEST:
        # POSIX counts the hours to the west.
        return f"Etc/GMT{'-' if found[1] == '+' else '+'}{int(found[2])}"
    if re.search(r"[+-]\d", name):
        raise OptionError(say("sql no zone", option=option_name("time_zone"), name=repr(name)))
    return "UTC" if name in ("Z", "GMT") else name
