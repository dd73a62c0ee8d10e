"""The Python API: stores, and lazy scans over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from native_reader.checks import LARGEST, MOST_JOBS, whole
from native_reader.conditions import condition_on, predicate_of
from native_reader.errors import OptionError, UseError, did_you_mean, shown, spelled
from native_reader.export.account import Exported
from native_reader.export.run import Wanted, export
from native_reader.options import TABLE_OPTIONS, MessageOptions, options_of
from native_reader.plan.doubts import doubts_of, log_doubts
from native_reader.plan.explain import Explanation
from native_reader.plan.places import NOT_SEEN, PlacesOfStores
from native_reader.plan.plan import Plan
from native_reader.plan.planner import plan_read
from native_reader.predicate.tree import Predicate
from native_reader.scan.progress import Watch
from native_reader.scan.read import Projection
from native_reader.scan.run import Run
from native_reader.storage.broker_conf import StorePaths, parse_broker_conf, paths_of
from native_reader.storage.discovery import find_stores
from native_reader.storage.local import LocalPath, text_of, texts_of
from native_reader.storage.paths import uri_of
from native_reader.storage.s3 import Access, is_remote, use
from native_reader.storage.store import StoreFiles
from native_reader.storage.tar import TAR
from native_reader.tables import TABLE_NAMES, TABLES
from native_reader.tables.explain import TableExplanation
from native_reader.tables.table import Request, Selection, Table

_SHOWN = 300


class Store:
    """One or more stores: a snapshot of their files, taken by `open`.

    Examples:
        >>> store = nr.open("store")
        >>> store.messages(topic="orders").count_rows()
        122
        >>> store.table("segments", columns="first_offset,size").head(2).to_pylist()
        [{'first_offset': 0, 'size': 32768}, {'first_offset': 32768, 'size': 32768}]
    """

    def __init__(self, paths: Sequence[str], parts: StorePaths) -> None:
        self._paths, self._parts = tuple(paths), parts
        self._stores = tuple(find_stores(self._paths, parts))

    @property
    def stores(self) -> tuple[StoreFiles, ...]:
        """The stores that were found, each with the places of its files.

        Examples:
            >>> [len(found.segments) for found in store.stores]
            [4]
        """
        return self._stores

    def refresh(self) -> Store:
        """Open the same paths again, to see what was added or deleted since.

        Raises:
            PathError: There is no store any more.

        Examples:
            >>> store = store.refresh()
        """
        return Store(self._paths, self._parts)

    def messages(self, /, **options: Any) -> Scan:
        """Select messages of the log, one row each. Nothing is read yet.

        Args:
            **options: The fields of `native_reader.options.MessageOptions`; docs/options.md describes all of them. The most used are:
                `columns` (names, in a list or separated by commas), `topic`, `queue_id`, `tags`, `keys`, `msg_id`,
                `starting_timestamp`, `ending_timestamp`, `where` (a condition in SQL) and `mode` ("DROPMALFORMED" skips damage).

        Returns:
            A scan, which reads when it is used.

        Raises:
            OptionError: An option does not exist, or its value is invalid.
            PredicateError: `where` is invalid.
            SchemaError: A column does not exist.

        Examples:
            >>> scan = store.messages(columns="queue_id,queue_offset", where="topic = 'orders' AND queue_id IN (0, 1)")
            >>> scan.head(2).to_pylist()
            [{'queue_id': 1, 'queue_offset': 0}, {'queue_id': 0, 'queue_offset': 0}]
        """
        known = [each.name for each in options_of(MessageOptions)]
        for name in options:
            if name not in known:
                raise OptionError(f"unknown option '{name}'.{did_you_mean(name, known)} All options: {', '.join(known)}")
        return Scan(self._stores, MessageOptions(**options))

    def table(self, /, name: str, **options: Any) -> Lazy:
        """Select rows of a table by its name. Nothing is read yet.

        Args:
            name: The name of the table: "messages", or one of those in docs/tables.md.
            **options: Those of `messages`. Other tables take some of them, such as `columns` and `where`, and each its own.

        Returns:
            A `Scan` for "messages", a `TableScan` for every other table.

        Raises:
            OptionError: There is no such table, or it does not support an option.
            PredicateError: `where` is invalid.
            SchemaError: A column does not exist.

        Examples:
            >>> store.table("queues", columns="topic,queue_id", where="topic = 'orders'").head(1).to_pylist()
            [{'topic': 'orders', 'queue_id': 0}]
        """
        if not isinstance(name, str) or name not in ("messages", *TABLES):
            near = did_you_mean(name, TABLE_NAMES) if isinstance(name, str) else ""
            raise OptionError(f"table={shown(name)} does not exist.{near} All tables: {', '.join(TABLE_NAMES)}")
        if name == "messages":
            return self.messages(**options)
        taken = (*TABLE_OPTIONS, *TABLES[name].options)
        for option in options:
            if option not in taken:
                near = did_you_mean(option, taken)
                raise OptionError(f"table={name} does not support the option '{option}'.{near} Supported: {', '.join(taken)}")
        return TableScan(TABLES[name], self._stores, MessageOptions(**options))

    def topics(self, **options: Any) -> Lazy:
        """Select rows of the table `topics`: what each topic holds, and how it is configured.

        Args:
            **options: As for `table`.

        Examples:
            >>> store.topics(columns="messages", where="topic = 'orders'").to_table().to_pylist()
            [{'messages': 122}]
        """
        return self.table("topics", **options)

    def queues(self, **options: Any) -> Lazy:
        """Select rows of the table `queues`: each consume queue, with its first and next offset.

        Args:
            **options: As for `table`.

        Examples:
            >>> store.queues(columns="min_offset", where="topic = 'orders' AND queue_id = 0").to_table().to_pylist()
            [{'min_offset': 0}]
        """
        return self.table("queues", **options)

    def groups(self, **options: Any) -> Lazy:
        """Select rows of the table `consumer_offsets`: how far each consumer group has read each queue.

        Args:
            **options: As for `table`.

        Examples:
            >>> "lag" in store.groups().schema.names
            True
        """
        return self.table("consumer_offsets", **options)

    def verify(self, /, jobs: int = 1, progress: Watch = False, **options: Any) -> pa.Table:
        """Check that log, queues, index, checkpoint and configuration agree. Reads the whole log.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `Scan.to_batches`.
            **options: As for `table`.

        Returns:
            All rows of the table `findings`, one for each kind and place of an inconsistency. docs/verify.md has the codes.

        Raises:
            OptionError: An option does not exist, or its value is invalid.
            UnreadableError: A file of the log cannot be read.

        Examples:
            >>> sorted({finding["code"] for finding in nr.open("damaged").verify().to_pylist()})
            ['log-damage', 'log-truncated-by-start']
        """
        return self.table("findings", **options).to_table(jobs, progress)

    def __repr__(self) -> str:
        segments = [segment for store in self._stores for segment in store.segments]
        where = ", ".join(store.uri for store in self._stores) or "no store"
        size = sum(segment.size for segment in segments)
        count = f"{len(segments):,} segment{'s' * (len(segments) != 1)}"
        return f"<Store {where}: {count}, {size:,} bytes. Next: .messages(topic='...'), .table('segments')>"


def open(
    path: LocalPath | Iterable[LocalPath] | None = None,
    *,
    store_path_commit_log: str | None = None,
    store_path_consume_queue: str | None = None,
    store_path_index: str | None = None,
    broker_conf: str | None = None,
    fs: Mapping[str, object] | Any = None,
) -> Store:
    """Open a store, or several at once. Lists their files, and reads nothing of the log yet.

    Args:
        path: The directory of a store, its commitlog directory, one segment, a directory of stores, a `.tar` of them, a glob, a URI
            such as `s3://bucket/store`, or a list of these.
        store_path_commit_log: The directories of the log, if they are not below `path`; separated by commas.
        store_path_consume_queue: The directory of the consume queues, if it is not below `path`.
        store_path_index: The directory of the index files, if it is not below `path`.
        broker_conf: The broker's own configuration file, which contains these paths.
        fs: For `s3://bucket/store`, the arguments of pyarrow's S3FileSystem by name. Or a file system of pyarrow or fsspec, for any URI.

    Returns:
        The stores that were found, with their files as of now. A store is only read: nothing in it is created, changed or locked.

    Raises:
        PathError: There is no store at a path.
        OptionError: An argument is invalid, or no path is given.
        UnreadableError: A directory cannot be listed.

    Examples:
        >>> import native_reader as nr
        >>> store = nr.open("store")
        >>> store.messages(topic="orders", columns="queue_id,queue_offset,tags").head(1).to_pylist()
        [{'queue_id': 2, 'queue_offset': 0, 'tags': 'shipped'}]
        >>> nr.open("stor")
        Traceback (most recent call last):
        native_reader.errors.PathError: ...
    """
    paths = [] if path is None else texts_of(path)
    config = _checked_path("broker_conf", broker_conf)
    if fs is not None:
        use(_all_paths(paths, (store_path_commit_log, store_path_consume_queue, store_path_index, config)), fs)
    configured = parse_broker_conf(uri_of(config)) if config else StorePaths()
    logs = paths_of(_checked_path("store_path_commit_log", store_path_commit_log) or "")
    queues = _checked_path("store_path_consume_queue", store_path_consume_queue) or configured.consume_queue
    index = _checked_path("store_path_index", store_path_index) or configured.index
    parts = StorePaths(configured.root, logs or configured.commit_log, configured.dledger, queues, index)
    if not paths and parts == StorePaths():
        raise OptionError("the path is missing. Pass a path, store_path_commit_log or broker_conf")
    return Store(paths, parts)


def connect(paths: Iterable[str], places: Mapping[str, Any]) -> None:
    """Reach object storage as these arguments of `open` say; without `fs`, with the credentials of the environment.

    For processes that read what another one has planned, and that may have read with other credentials before.
    """
    given = {name: value for name, value in places.items() if name != "fs"}
    remote = [path for path in _all_paths(paths, given.values()) if is_remote(path)]
    if remote:
        use(remote, places.get("fs") or Access())


def _all_paths(paths: Iterable[str], places: Iterable[Any]) -> list[str]:
    """All paths in arguments of `open`. Lists of them are separated by commas."""
    given = [*paths, *(path for place in places if isinstance(place, str) for path in paths_of(place))]
    return [path.removeprefix(TAR) for path in given]


def _checked_path(name: str, value: Any) -> str | None:
    return None if value is None else text_of(value, name)


def selection_of(table: Table[Any], options: MessageOptions) -> Selection:
    """The columns and rows of a table other than `messages` that the options select."""
    types = {name: spec.type for name, spec in table.columns.items()}
    return Selection(table.names_of(options.values["columns"]), condition_on(types, options))


def _where(predicate: Predicate) -> str:
    condition = str(predicate)
    shown = condition if len(condition) <= _SHOWN else f"{condition[:_SHOWN]}…"
    return "" if condition == "TRUE" else f" where {shown}"


def _jobs(jobs: int) -> int:
    return whole("jobs", jobs, 1, MOST_JOBS)


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
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(jobs))

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
        for batch in self.to_batches():
            kept.append(batch.slice(0, left))
            left -= len(kept[-1])
            if left <= 0:
                break
        return pa.Table.from_batches(kept, self.schema)

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
    "to_polars": "polars.DataFrame(scan)",
    "scanner": ".to_batches(), or polars.DataFrame(scan), pyarrow.table(scan)",
    "filter": ".messages(where='...')",
    "select": ".messages(columns='topic,body')",
    "columns": ".schema.names",
    "show": ".head(10)",
    "count": ".count_rows()",
    "collect": ".to_table()",
}
"""What to use instead of names from other libraries."""


def _refuse_as_dataset(arguments: Mapping[str, object]) -> None:
    """pyarrow datasets take columns and a filter on each read; polars.scan_pyarrow_dataset passes them."""
    if arguments:
        raise UseError(
            f"{next(iter(arguments))}= is not supported: a scan is not a pyarrow dataset. "
            "Use .messages(columns=..., where=...), then polars.DataFrame(scan)"
        )


class Scan(Lazy):
    """Messages that have not been read yet. The read is planned once, on first use, so a second use returns the same rows.

    `pyarrow.table(scan)`, `polars.DataFrame(scan)` and `duckdb.sql("from scan")` read it, too.

    Examples:
        >>> scan = nr.open("store").messages(topic="orders", columns="queue_id,tags")
        >>> scan.count_rows()
        122
        >>> import pyarrow
        >>> pyarrow.table(scan).num_rows
        122
    """

    def __init__(self, stores: tuple[StoreFiles, ...], options: MessageOptions, predicate: Predicate | None = None) -> None:
        self._stores = stores
        self._projection, self._planning, self._zone = options.projection(), options.planning(), options.time_zone
        self._predicate = predicate_of(options) if predicate is None else predicate
        self._plan: Plan | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        return self._projection.schema

    def __repr__(self) -> str:
        stores = ", ".join(store.uri for store in self._stores) or "no store"
        names, where = ", ".join(self.schema.names), _where(self._predicate)
        return (
            f"<Scan {stores}: {len(self.schema)} columns ({names}){where}. Not read yet. Next: .head(10), .to_table(), "
            ".to_batches(), .count_rows(), .explain()>"
        )

    def plan(self) -> Plan:
        """Plan the read, on first use: the splits, and the end of each log. A plan can be pickled.

        Raises:
            DataLoss: A segment in the middle of the log is missing, and `fail_on_data_loss` is not False.
            UnreadableError: A file cannot be read.

        Examples:
            >>> sum(split.written for split in store.messages().plan().splits)
            130742
        """
        if self._plan is None:
            self._plan = plan_read(self._stores, self._predicate, self._planning)
        return self._plan

    def explain(self) -> Explanation:
        """Explain what the scan will read, what it skips, and why. Plans the read, as `plan` does.

        Raises:
            StoreError: As for `plan`.

        Examples:
            >>> print(store.messages(where="physical_offset < 10000").explain())
            messages where physical_offset < 10000
             file://.../store: 4 segments, 128.0 KiB
            ...
        """
        return Explanation(self._stores, self.plan(), self._zone, tuple(self.doubts()))

    def doubts(self, spell: Callable[[str], str] = str) -> list[str]:
        """List topics, queues and ids in the conditions that are not in the stores, and so may match nothing.

        Args:
            spell: How option names are written.

        Examples:
            >>> store.messages(topic="oders").doubts()
            ["...'oders'...Did you mean 'orders'?..."]
        """
        return [spelled(doubt.text, spell) for doubt in doubts_of(self._stores, self._predicate) if doubt.text]

    def run(self, jobs: int = 1, progress: Watch = False) -> Run:
        """Start a read of which a report is wanted: iterate the result for its batches, then use its `report`.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `to_batches`.

        Raises:
            StoreError: As for `plan`; and as for `to_batches`, while the result is iterated.

        Examples:
            >>> run = nr.open("damaged").messages(mode="DROPMALFORMED").run()
            >>> rows = sum(batch.num_rows for batch in run)
            >>> [damage.reason for damage in run.report.damage]
            ['lengths']
        """
        return self._run(self._projection, jobs, progress)

    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Read the rows as an iterator of batches, in log order, except that rows named by an index come first.

        Args:
            jobs: How many parts are read in parallel.
            progress: True draws a bar on standard error if that is a terminal. A function is called with a `Progress` from time to time.

        Raises:
            StoreDamaged: Bytes are damaged, and `mode` is FAILFAST.
            DataLoss: A part of the log is missing, and `fail_on_data_loss` is not False.
            SplitError: A split begins inside a record. Set `max_partition_bytes` to the size of a segment.
            UnreadableError: A file cannot be read.

        Examples:
            >>> sum(batch.num_rows for batch in store.messages(columns="topic").to_batches(jobs=2))
            255
        """
        return iter(self.run(jobs, progress))

    def count_rows(self, jobs: int = 1, progress: Watch = False) -> int:
        """Count the rows. Builds no columns.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `to_batches`.

        Raises:
            StoreError: As for `to_batches`.

        Examples:
            >>> store.messages().count_rows()
            255
        """
        run = self._run(replace(self._projection, columns=()), jobs, progress)
        for _ in run:
            pass
        return run.report.rows

    def export(
        self,
        path: LocalPath,
        to: str = "parquet",
        *,
        partition_by: str | Sequence[str] = (),
        compression: str | None = None,
        text_bodies: bool = False,
        jobs: int = 1,
        progress: Watch = False,
    ) -> Exported:
        """Write all rows to files in a folder. If an earlier export with the same options was stopped, continue it.

        Args:
            path: The folder: new, empty, or that of the export to continue.
            to: The format: "parquet", "arrow", "jsonl" or "csv".
            partition_by: Columns whose values become folders (`topic=orders`), or "day": that of the store time.
            compression: The compression of the format; None is its default. docs/export.md lists them.
            text_bodies: Write bodies as text, where they are valid UTF-8.
            jobs: How many tasks run in parallel.
            progress: As for `to_batches`.

        Returns:
            What was written, and the account of every byte of the log.

        Raises:
            ExportError: A file cannot be written.
            OptionError: An argument is invalid, or the folder holds another export.
            StoreError: As for `to_batches`.

        Examples:
            >>> store.messages(topic="orders").export("orders", partition_by="topic").rows
            122
        """
        wanted = Wanted(self._stores, self._predicate, self._projection, self._planning, self._zone, self.plan)
        files: dict[str, Any] = {"to": to, "partition_by": partition_by, "compression": compression, "text_bodies": text_bodies}
        exported = export(wanted, path, **files, jobs=_jobs(jobs), progress=progress)
        log_doubts(self._stores, self._predicate, self._planning.access, exported.rows)
        return exported

    def _run(self, projection: Projection, jobs: int, progress: Watch) -> Run:
        at_end = partial(log_doubts, self._stores, self._predicate, self._planning.access)
        return Run(self.plan(), projection, _jobs(jobs), at_end, progress)


class TableScan(Lazy):
    """Rows of a table other than `messages` that have not been read yet. The ends of the logs are determined on first use.

    Examples:
        >>> scan = nr.open("store").table("segments", columns="first_offset,size")
        >>> scan.head(1).to_pylist()
        [{'first_offset': 0, 'size': 32768}]
    """

    def __init__(
        self,
        table: Table[Any],
        stores: tuple[StoreFiles, ...],
        options: MessageOptions,
        selection: Selection | None = None,
        seen: PlacesOfStores = NOT_SEEN,
    ) -> None:
        """`seen`: by store URI, where an earlier pass over the log saw every message that the table is made from."""
        self._table, self._stores = table, stores
        self._selection, self._zone = selection_of(table, options) if selection is None else selection, options.time_zone
        self._projection = options.projection(self._selection.needed)
        planning = replace(options.planning(), lenient=True, fail_on_data_loss=False)
        self._request = Request(stores, planning, self._selection.needed, seen)
        self._parts: Sequence[object] | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        return self._table.schema_of(self._selection.columns)

    def __repr__(self) -> str:
        names, where = ", ".join(self.schema.names), _where(self._selection.predicate)
        return (
            f"<TableScan {self._table.name}: {len(self.schema)} columns ({names}){where}. Not read yet. Next: .head(10), .to_table(), "
            ".to_batches(), .count_rows(), .explain()>"
        )

    def parts(self) -> Sequence[object]:
        """List the parts of the table, which can be read one by one or in parallel.

        Examples:
            >>> len(store.table("segments").parts())
            4
        """
        if self._parts is None:
            self._parts = self._table.parts(self._request)
        return self._parts

    def explain(self) -> TableExplanation:
        """Explain what the table will read.

        Examples:
            >>> print(store.table("segments", columns="segment").explain())
            segments where TRUE
            ...
        """
        return TableExplanation(self._table, self._selection, self._stores, tuple(self.parts()), self._request.knows_ends, self._zone)

    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Read the rows as an iterator of batches, in log order.

        Args:
            jobs: How many parts are read in parallel.
            progress: True draws a bar on standard error if that is a terminal. A function is called with a `Progress` from time to time.

        Raises:
            StoreDamaged: Bytes are damaged, and the table cannot be made without them.
            UnreadableError: A file cannot be read.

        Examples:
            >>> sum(batch.num_rows for batch in store.table("segments").to_batches())
            4
        """
        return self._batches(self._selection, jobs, progress)

    def count_rows(self, jobs: int = 1, progress: Watch = False) -> int:
        """Count the rows. Computes only the columns of the condition.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `to_batches`.

        Raises:
            StoreError: As for `to_batches`.

        Examples:
            >>> store.table("segments").count_rows()
            4
        """
        return sum(len(batch) for batch in self._batches(replace(self._selection, columns=()), jobs, progress))

    def _batches(self, selection: Selection, jobs: int, progress: Watch) -> Iterator[pa.RecordBatch]:
        yield from self._table.read_all(self.parts(), self._projection, selection, _jobs(jobs), progress)
