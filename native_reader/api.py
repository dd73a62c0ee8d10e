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
    """One or more stores, with their files as of when they were opened."""

    def __init__(self, paths: Sequence[str], parts: StorePaths) -> None:
        self._paths, self._parts = tuple(paths), parts
        self._stores = tuple(find_stores(self._paths, parts))

    @property
    def stores(self) -> tuple[StoreFiles, ...]:
        """The file locations of each store."""
        return self._stores

    def refresh(self) -> Store:
        """Open the same paths again."""
        return Store(self._paths, self._parts)

    def messages(self, /, **options: Any) -> Scan:
        """All messages of the log, one row each. The options are the fields of `MessageOptions`."""
        known = [each.name for each in options_of(MessageOptions)]
        for name in options:
            if name not in known:
                raise OptionError(f"unknown option '{name}'.{did_you_mean(name, known)} All options: {', '.join(known)}")
        return Scan(self._stores, MessageOptions(**options))

    def table(self, /, name: str, **options: Any) -> Lazy:
        """A table by name. Those other than `messages` take the options in `TABLE_OPTIONS`, and each its own."""
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
        """The table `topics`: what each topic holds, and how it is configured."""
        return self.table("topics", **options)

    def queues(self, **options: Any) -> Lazy:
        """The table `queues`: each consume queue, with its first and next offset."""
        return self.table("queues", **options)

    def groups(self, **options: Any) -> Lazy:
        """The table `consumer_offsets`: how far each consumer group has read each queue."""
        return self.table("consumer_offsets", **options)

    def verify(self, /, jobs: int = 1, progress: Watch = False, **options: Any) -> pa.Table:
        """Check that log, queues, index, checkpoint and configuration agree: all rows of the table `findings`."""
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
    """Open a store: a directory, its commitlog, one segment, a parent of stores, a `.tar` of them, a glob, or a list of these.

    Use the other arguments for parts outside the path; `store_path_commit_log` can be a comma-separated list.
    `fs`: for `s3://bucket/store`, arguments of pyarrow's S3FileSystem by name; or a file system of pyarrow or fsspec, for any URI.
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
        """The schema of its batches."""

    @abstractmethod
    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Record batches in log order. `jobs`: how many parts are read in parallel.

        `progress`: True draws a bar on standard error if that is a terminal; a function is called with a `Progress` from time to time.
        """

    def to_reader(self, jobs: int = 1) -> pa.RecordBatchReader:
        """An Arrow RecordBatchReader."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(jobs))

    def to_table(self, jobs: int = 1, progress: Watch = False, **of_datasets: object) -> pa.Table:
        """Read the whole table into memory. `progress`: as in `to_batches`."""
        _refuse_as_dataset(of_datasets)
        return pa.Table.from_batches(self.to_batches(jobs, progress), self.schema)

    def head(self, count: int, **of_datasets: object) -> pa.Table:
        """The first rows; reads no further than needed."""
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
    """A table that has not been read yet. It is planned once, on first use, so a second use returns the same rows."""

    def __init__(self, stores: tuple[StoreFiles, ...], options: MessageOptions, predicate: Predicate | None = None) -> None:
        self._stores = stores
        self._projection, self._planning, self._zone = options.projection(), options.planning(), options.time_zone
        self._predicate = predicate_of(options) if predicate is None else predicate
        self._plan: Plan | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of its batches."""
        return self._projection.schema

    def __repr__(self) -> str:
        stores = ", ".join(store.uri for store in self._stores) or "no store"
        names, where = ", ".join(self.schema.names), _where(self._predicate)
        return (
            f"<Scan {stores}: {len(self.schema)} columns ({names}){where}. Not read yet. Next: .head(10), .to_table(), "
            ".to_batches(), .count_rows(), .explain()>"
        )

    def plan(self) -> Plan:
        """The splits, and the end of each log."""
        if self._plan is None:
            self._plan = plan_read(self._stores, self._predicate, self._planning)
        return self._plan

    def explain(self) -> Explanation:
        """What the scan will read, what it skips, and why."""
        return Explanation(self._stores, self.plan(), self._zone, tuple(self.doubts()))

    def doubts(self, spell: Callable[[str], str] = str) -> list[str]:
        """Topics, queues and ids in the conditions that are not in the stores, and so may match nothing.

        `spell`: how option names are written.
        """
        return [spelled(doubt.text, spell) for doubt in doubts_of(self._stores, self._predicate) if doubt.text]

    def run(self, jobs: int = 1, progress: Watch = False) -> Run:
        """Start reading: iterate the result for its batches, then use its `report`. `progress`: as in `to_batches`."""
        return self._run(self._projection, jobs, progress)

    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Record batches in log order, except that rows named by an index come first.

        `progress`: True draws a bar on standard error if that is a terminal; a function is called with a `Progress` from time to time.
        """
        return iter(self.run(jobs, progress))

    def count_rows(self, jobs: int = 1, progress: Watch = False) -> int:
        """The number of rows. Builds no columns. `progress`: as in `to_batches`."""
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
        """Write all rows to files in the folder `path`. If an earlier export with the same options was stopped, continue it.

        `to`: parquet, arrow, jsonl or csv. `partition_by`: columns, or `day`, whose values become folders (`topic=orders`).
        `progress`: as in `to_batches`.
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
    """A table other than `messages`. The ends of the logs are determined on first use.

    `seen`: by store URI, where an earlier pass over the log saw every message that the table is made from.
    """

    def __init__(
        self,
        table: Table[Any],
        stores: tuple[StoreFiles, ...],
        options: MessageOptions,
        selection: Selection | None = None,
        seen: PlacesOfStores = NOT_SEEN,
    ) -> None:
        self._table, self._stores = table, stores
        self._selection, self._zone = selection_of(table, options) if selection is None else selection, options.time_zone
        self._projection = options.projection(self._selection.needed)
        planning = replace(options.planning(), lenient=True, fail_on_data_loss=False)
        self._request = Request(stores, planning, self._selection.needed, seen)
        self._parts: Sequence[object] | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of its batches."""
        return self._table.schema_of(self._selection.columns)

    def __repr__(self) -> str:
        names, where = ", ".join(self.schema.names), _where(self._selection.predicate)
        return (
            f"<TableScan {self._table.name}: {len(self.schema)} columns ({names}){where}. Not read yet. Next: .head(10), .to_table(), "
            ".to_batches(), .count_rows(), .explain()>"
        )

    def parts(self) -> Sequence[object]:
        """The parts of the table, which can be read one by one or in parallel."""
        if self._parts is None:
            self._parts = self._table.parts(self._request)
        return self._parts

    def explain(self) -> TableExplanation:
        """What the table will read."""
        return TableExplanation(self._table, self._selection, self._stores, tuple(self.parts()), self._request.knows_ends, self._zone)

    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Record batches in log order. `jobs`: how many parts are read in parallel.

        `progress`: True draws a bar on standard error if that is a terminal; a function is called with a `Progress` from time to time.
        """
        return self._batches(self._selection, jobs, progress)

    def count_rows(self, jobs: int = 1, progress: Watch = False) -> int:
        """The number of rows. Computes only the columns of the condition. `progress`: as in `to_batches`."""
        return sum(len(batch) for batch in self._batches(replace(self._selection, columns=()), jobs, progress))

    def _batches(self, selection: Selection, jobs: int, progress: Watch) -> Iterator[pa.RecordBatch]:
        yield from self._table.read_all(self.parts(), self._projection, selection, _jobs(jobs), progress)
