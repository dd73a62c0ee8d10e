"""The Python face: stores, and scans over them that are lazy until used."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from native_reader.access.doubts import Doubt, doubts_of, may_doubt_rows
from native_reader.access.estimate import SCAN, TRUST, Estimate, estimate
from native_reader.access.index import Hits
from native_reader.access.keys import BY_KEY, Judged, Located, located
from native_reader.access.outcomes import mentions
from native_reader.access.plan import Plan, Times, plan
from native_reader.access.predicate import Predicate
from native_reader.checks import LARGEST, MOST_JOBS, whole
from native_reader.errors import OptionError, UseError, nearest, shown
from native_reader.explain import Explanation
from native_reader.options import MessageOptions
from native_reader.scan.ends import Ends, ends_of
from native_reader.scan.indexed import judged
from native_reader.scan.read import FAILFAST
from native_reader.scan.run import Run
from native_reader.scan.sync import frame_of
from native_reader.scan.times import times_of
from native_reader.scan.witness import is_live
from native_reader.storage.broker_conf import Parts, parse_broker_conf, paths_of
from native_reader.storage.discovery import find_stores, uri_of
from native_reader.storage.local import LocalPath, text_of, texts_of
from native_reader.storage.store import StoreFiles
from native_reader.tables import TABLES
from native_reader.tables.table import Part, Request, Table

TABLE_NAMES = ("messages", *TABLES)
TABLE_OPTIONS = ("verify_crc", "max_partition_bytes", "max_record_bytes", "max_read_rate", "ignore_missing_files")
_SOON_READ = 8 << 20
_SHOWN = 300
_log = logging.getLogger("native_reader")


class Store:
    """One store or several, as they lay there when they were opened."""

    def __init__(self, paths: Sequence[str], parts: Parts) -> None:
        self._paths, self._parts = tuple(paths), parts
        self._stores = tuple(find_stores(self._paths, parts))

    @property
    def stores(self) -> tuple[StoreFiles, ...]:
        """Where the files of each store lie."""
        return self._stores

    def refresh(self) -> Store:
        """The same paths, looked at again."""
        return Store(self._paths, self._parts)

    def messages(self, /, **options: Any) -> Scan:
        """All messages of the log, one row each. The options are the fields of `MessageOptions`."""
        known = [field.name for field in fields(MessageOptions)]
        for name in options:
            if name not in known:
                raise OptionError(f"unknown option '{name}'.{nearest(name, known)} All options: {', '.join(known)}")
        return Scan(self._stores, MessageOptions(**options))

    def table(self, /, name: str, **options: Any) -> Lazy:
        """A table by its name: `messages`, or `damage` and `segments`, which take the options of TABLE_OPTIONS."""
        if isinstance(name, str) and name == "messages":
            return self.messages(**options)
        if not isinstance(name, str) or name not in TABLES:
            near = nearest(name, TABLE_NAMES) if isinstance(name, str) else ""
            raise OptionError(f"table={shown(name)} does not exist.{near} All tables: {', '.join(TABLE_NAMES)}")
        for option in options:
            if option not in TABLE_OPTIONS:
                near = nearest(option, TABLE_OPTIONS)
                raise OptionError(f"table={name} does not take the option '{option}'.{near} It takes {', '.join(TABLE_OPTIONS)}")
        return TableScan(TABLES[name], self._stores, MessageOptions(**options))

    def __repr__(self) -> str:
        segments = [segment for store in self._stores for segment in store.segments]
        where = ", ".join(store.uri for store in self._stores) or "no store"
        size = sum(segment.size for segment in segments)
        count = f"{len(segments):,} segment{'s' * (len(segments) != 1)}"
        return f"<Store {where}: {count}, {size:,} bytes. Go on with .messages(topic='...'), .table('segments')>"


def open(
    path: LocalPath | Iterable[LocalPath] | None = None,
    *,
    store_path_commit_log: str | None = None,
    store_path_consume_queue: str | None = None,
    store_path_index: str | None = None,
    broker_conf: str | None = None,
) -> Store:
    """Open a store: a directory, its commitlog, one segment, a parent of stores, a glob, or a list of such.

    The other arguments say where parts lie that are not below the path; `store_path_commit_log` can name several, with commas.
    """
    paths = [] if path is None else texts_of(path)
    config = _place("broker_conf", broker_conf)
    said = parse_broker_conf(uri_of(config)) if config else Parts()
    logs = paths_of(_place("store_path_commit_log", store_path_commit_log) or "")
    queues, index = _place("store_path_consume_queue", store_path_consume_queue), _place("store_path_index", store_path_index)
    parts = Parts(said.root, logs or said.commit_log, said.dledger, queues or said.consume_queue, index or said.index)
    if not paths and parts == Parts():
        raise OptionError("nothing to open: give a path, store_path_commit_log or broker_conf")
    return Store(paths, parts)


def _place(name: str, value: Any) -> str | None:
    return None if value is None else text_of(value, name)


def _jobs(jobs: int) -> int:
    return whole("jobs", jobs, 1, MOST_JOBS)


class Lazy(ABC):
    """A table that has not been read yet, as Arrow takes it."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The schema of its batches."""

    @abstractmethod
    def to_batches(self, jobs: int = 1) -> Iterator[pa.RecordBatch]:
        """Its batches, in the order of the log; `jobs` parts are read side by side."""

    def to_reader(self, jobs: int = 1) -> pa.RecordBatchReader:
        """Its batches as Arrow's own reader."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(jobs))

    def to_table(self, jobs: int = 1, **of_datasets: object) -> pa.Table:
        """All of it in memory."""
        _refuse_as_dataset(of_datasets)
        return pa.Table.from_batches(self.to_batches(jobs), self.schema)

    def head(self, count: int, **of_datasets: object) -> pa.Table:
        """Its first rows; reads no further than it must."""
        _refuse_as_dataset(of_datasets)
        kept, left = [], whole("head", count, 0, LARGEST)
        for batch in self.to_batches():
            kept.append(batch.slice(0, left))
            left -= len(kept[-1])
            if left <= 0:
                break
        return pa.Table.from_batches(kept, self.schema)

    def __iter__(self) -> Iterator[Any]:
        raise UseError(f"a {type(self).__name__} is not iterated: .to_batches() gives batches, .to_table().to_pylist() rows as dicts")

    def __len__(self) -> int:
        raise UseError(f"a {type(self).__name__} has no length: .count_rows() counts rows, len(scan.schema) columns")

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: object) -> object:
        raise UseError(
            f"a {type(self).__name__} has no items: choose columns with .messages(columns='topic,body'), rows with where=, .head(10)"
        )

    def __getattr__(self, name: str) -> Any:
        if name in _INSTEAD:
            raise AttributeError(f"a {type(self).__name__} has no {name}: use {_INSTEAD[name]}", name=name, obj=self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)


_INSTEAD = {
    "to_pandas": ".to_table().to_pandas()",
    "to_pylist": ".to_table().to_pylist()",
    "to_polars": "polars.from_arrow(scan)",
    "scanner": ".to_batches(), or polars.from_arrow(scan), pyarrow.table(scan)",
    "filter": ".messages(where='...')",
    "select": ".messages(columns='topic,body')",
    "columns": ".schema.names",
    "show": ".head(10)",
    "count": ".count_rows()",
    "collect": ".to_table()",
}
"""What other libraries call it."""


def _refuse_as_dataset(asked: Mapping[str, object]) -> None:
    """A dataset of pyarrow takes columns and a filter with each read; polars.scan_pyarrow_dataset asks so."""
    if asked:
        raise UseError(
            f"{next(iter(asked))}= is not possible here, for this is no pyarrow dataset: "
            "choose with .messages(columns=..., where=...), then polars.from_arrow(scan)"
        )


class Scan(Lazy):
    """A table that has not been read yet. Its plan is made at its first use, so using it twice gives the same rows."""

    def __init__(self, stores: tuple[StoreFiles, ...], options: MessageOptions) -> None:
        self._stores = stores
        self._projection, self._predicate = options.projection(), options.predicate()
        self._partition_bytes, self._refuses_loss = options.partition_bytes(), options.refuses_loss()
        self._access, self._skew, self._zone = options.paths(), options.skew(), options.time_zone
        self._partitions, self._tail, self._slots = options.partitions(), options.end(), options.index_slots()
        self._ranges: Mapping[str, tuple[int, int]] | None = None
        self._plan: Plan | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of its batches."""
        return self._projection.schema

    def __repr__(self) -> str:
        stores = ", ".join(store.uri for store in self._stores) or "no store"
        condition, names = str(self._predicate), ", ".join(self.schema.names)
        where = "" if condition == "TRUE" else f" where {condition[:_SHOWN]}{'…' if len(condition) > _SHOWN else ''}"
        return (
            f"<Scan {stores}: {len(self.schema)} columns ({names}){where}. Not read yet; go on with .head(10), .to_table(), "
            ".to_batches(), .count_rows(), .explain()>"
        )

    def plan(self) -> Plan:
        """The splits, and where each log was found to end."""
        if self._plan is None:
            ends, stale, _ = self._ends()
            stores = self._stores
            if self._ranges is not None:
                stores = tuple(_within(store, self._ranges[store.uri]) for store in stores if store.uri in self._ranges)
            # A head can lie about its time, so who asks for a scan gets one.
            timed = stores if self._access != SCAN and mentions(self._predicate, "store_timestamp") else ()
            # Queues and index files are asked about the whole log, whatever part of it is read.
            asked = [store for store in self._stores if store.uri in ends]
            lookups = {store.uri: self._located(store, ends[store.uri]) for store in asked}
            self._plan = plan(
                stores,
                ends,
                self._predicate,
                max_partition_bytes=self._partition_bytes,
                min_partitions=self._partitions,
                fail_on_data_loss=self._refuses_loss,
                times={store.uri: self._times(store, ends[store.uri]) for store in timed},
                estimates={store.uri: self._estimate(store, lookups[store.uri], ends[store.uri]) for store in asked},
                lookups=lookups,
                starts=None if self._ranges is None else {uri: start for uri, (start, _) in self._ranges.items()},
                stale=stale,
            )
        return self._plan

    def _ends(self) -> Ends:
        if self._ranges is not None:
            return Ends({uri: stop for uri, (_, stop) in self._ranges.items()}, {}, {})
        return ends_of(
            self._stores,
            max_record_bytes=self._projection.max_record_bytes,
            partition_bytes=self._partition_bytes,
            lenient=self._projection.mode != FAILFAST,
            refuses_loss=self._refuses_loss,
            tail=self._tail,
        )

    def _located(self, store: StoreFiles, end: int) -> Located:
        def judge(hits: Hits) -> Judged:
            return judged(store, hits, self._projection.max_record_bytes)

        first = frame_of(store.segments[0]) if store.segments else 0  # a record's own offset lies behind its frame
        live, log = is_live(store.uri), (store.min_offset + first, end)
        return located(store, self._predicate, self._access_to(store), log, slots=self._slots, live=live, judge=judge)

    def _estimate(self, store: StoreFiles, lookup: Located, end: int) -> Estimate:
        if lookup.is_complete:
            return Estimate(why=BY_KEY)
        return estimate(store, lookup.predicate, self._access_to(store), end)

    def _access_to(self, store: StoreFiles) -> str:
        """A stream asks again and again for little, which is read sooner than the way to it is found."""
        start, stop = (0, _SOON_READ) if self._ranges is None else self._ranges[store.uri]
        return SCAN if stop - start < _SOON_READ else self._access

    def _times(self, store: StoreFiles, end: int) -> Times:
        written = [segment for segment in store.segments if segment.base < end]
        # Who allows no cuts inside a segment gets none here either.
        cut = any(segment.size > self._partition_bytes for segment in written)
        return times_of(written, end, self._predicate, tolerance=self._skew, cut=cut, queue=store.consume_queue)

    def narrowed(self, predicate: Predicate) -> Scan:
        """The same scan of rows of which that is true, and nothing else is asked."""
        scan = copy(self)
        scan._predicate, scan._plan = predicate, None
        return scan

    def between(self, ranges: Mapping[str, tuple[int, int]]) -> Scan:
        """The same scan of some stores, of each what lies between two boundaries of its log."""
        scan = copy(self)
        scan._ranges, scan._plan = ranges, None
        return scan

    def explain(self) -> Explanation:
        """What it will read, what not, and why."""
        return Explanation(self._stores, self.plan(), self._zone, tuple(self.doubts()))

    def doubts(self) -> list[str]:
        """What it names that the stores do not know: topics, queues and ids that may match nothing."""
        return [doubt.text for doubt in self._doubts() if doubt.text]

    def _doubts(self) -> list[Doubt]:
        return doubts_of(self._stores, self._predicate)

    def _tell(self, rows: int) -> None:
        """Say of a whole read why it may have found nothing, or more than was meant."""
        if rows and not may_doubt_rows(self._predicate):
            return
        for doubt in self._doubts():
            if not rows:
                missed = " (access=trust does not search the log for deleted topics)" if doubt.topic and self._access == TRUST else ""
                _log.warning("%s%s", doubt.after(self._predicate), missed)
            elif doubt.always and doubt.text:
                _log.warning("%s", doubt.text)

    def run(self, jobs: int = 1) -> Run:
        """Start reading: iterate the result for its batches, then ask it for its `report`."""
        return Run(self.plan(), self._projection, _jobs(jobs), self._tell)

    def to_batches(self, jobs: int = 1) -> Iterator[pa.RecordBatch]:
        """Its batches, in the order of the log, but for rows that an index names: they come first."""
        return iter(self.run(jobs))

    def count_rows(self, jobs: int = 1) -> int:
        """How many rows there are, without making a column."""
        run = Run(self.plan(), replace(self._projection, columns=()), _jobs(jobs), self._tell)
        for _ in run:
            pass
        return run.report.rows


def _within(store: StoreFiles, span: tuple[int, int]) -> StoreFiles:
    """The store with no other segments than those that hold something of that range."""
    start, stop = span
    return replace(store, segments=tuple(each for each in store.segments if each.base < stop and start < each.end))


class TableScan(Lazy):
    """One of the other tables. Where each log ends is decided at its first use."""

    def __init__(self, table: Table, stores: tuple[StoreFiles, ...], options: MessageOptions) -> None:
        self._table, self._stores = table, stores
        self._projection, self._partition_bytes = options.projection(), options.partition_bytes()
        self._parts: list[Part] | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of its batches."""
        return self._table.schema

    def __repr__(self) -> str:
        names = ", ".join(self.schema.names)
        return f"<TableScan {self._table.name}: {len(self.schema)} columns ({names}). Not read yet; go on with .to_table(), .head(10)>"

    def parts(self) -> list[Part]:
        """What it is read in: one part after the other, or each by somebody else."""
        if self._parts is None:
            most = self._projection.max_record_bytes
            ends = ends_of(self._stores, max_record_bytes=most, partition_bytes=self._partition_bytes, lenient=True, refuses_loss=False)
            self._parts = self._table.parts(Request(self._stores, ends, self._partition_bytes))
        return self._parts

    def to_batches(self, jobs: int = 1) -> Iterator[pa.RecordBatch]:
        """Its batches, in the order of the log; `jobs` parts are read side by side."""
        if _jobs(jobs) == 1:
            for part in self.parts():
                yield from self._table.rows(part, self._projection)
            return
        with ThreadPoolExecutor(jobs) as threads:
            for found in threads.map(lambda part: list(self._table.rows(part, self._projection)), self.parts()):
                yield from found
