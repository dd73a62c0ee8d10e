"""A checked `load` request: stores, columns, rows. Kept small, because it is sent with every task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import native_reader as nr
from native_reader.api import Scan, Store, TableScan, connect, selection_of
from native_reader.columns.projection import Projection
from native_reader.columns.schema import CORRUPT_RECORD, DEFAULT_COLUMNS
from native_reader.conditions import predicate_of
from native_reader.errors import OptionError, option_name
from native_reader.options import PLACES, TABLE_OPTIONS, MessageOptions, Option, options_of, refuse_in_streams
from native_reader.predicate.tree import EVERYTHING, Predicate
from native_reader.stream import EARLIEST, LATEST, BatchLimit
from native_reader.tables import TABLES
from native_reader.tables.table import Selection, Table
from rmqstore_spark.options import MESSAGES, SparkOptions, parsed

_NO_PATH = (
    "the path is missing. Use .load('/data/store'). If this is a table of the catalog, Spark dropped its OPTIONS, including the "
    "conditions. Use CREATE TEMPORARY VIEW ... USING `rocketmq-store` OPTIONS (path '/data/store', ...), which keeps them"
)

_FORGOTTEN = (
    "CREATE TABLE: Spark keeps a table's columns but drops its OPTIONS, so {} would have no effect when the table is read. "
    "Use CREATE TEMPORARY VIEW ... USING `rocketmq-store` OPTIONS (...), which keeps them"
)


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The checked options of a `load`; nothing is opened yet.

    `needs_topics`: whether a missing topic is an error. `selection`: of a table other than `messages`. `start` and `limit` are for
    streams only.
    """

    paths: tuple[str, ...]
    places: dict[str, Any]
    options: MessageOptions
    predicate: Predicate
    projection: Projection
    selection: Selection | None
    table: str
    takes_filters: bool
    takes_limits: bool
    needs_topics: bool
    start: str | None
    limit: BatchLimit

    @staticmethod
    def of(options: Mapping[str, str]) -> LoadRequest:
        """Check every option, whether it is used or not."""
        values: dict[str, Any] = parsed(options)
        if values and _is_new_table(options):
            raise OptionError(_FORGOTTEN.format(option_name(next(iter(values)))))
        places, start = _taken(values, PLACES), _start(values)
        messages = _taken(values, options_of(MessageOptions))
        spark = SparkOptions(**values).values
        paths = _paths(options)
        if not paths and not places.keys() - {"fs"}:
            raise OptionError(_NO_PATH)
        checked = MessageOptions(**messages)
        limit = BatchLimit(spark["max_bytes_per_trigger"], spark["max_offsets_per_trigger"])
        if spark["table"] != MESSAGES:
            _check_table(spark, messages)
        selection = None if spark["table"] == MESSAGES else selection_of(TABLES[spark["table"]], checked)
        predicate = predicate_of(checked) if selection is None else EVERYTHING
        projection = checked.projection(None if selection is None else selection.needed)
        chosen = predicate, projection, selection
        flags = spark["filter_pushdown"], spark["limit_pushdown"], spark["fail_on_missing_topic"]
        return LoadRequest(paths, places, checked, *chosen, spark["table"], *flags, start, limit)

    def for_batch(self) -> LoadRequest:
        """This request, or an error if a batch read cannot answer it."""
        if self.start == LATEST:
            raise OptionError("startingOffsets=latest is supported only in a stream. Omit it, or use spark.readStream")
        for name, value in (("maxBytesPerTrigger", self.limit.most_bytes), ("maxOffsetsPerTrigger", self.limit.most_records)):
            if value is not None:
                raise OptionError(f"{name}={value} is supported only in a stream. Omit it: spark.read reads everything at once")
        return self

    def for_stream(self) -> LoadRequest:
        """This request, or an error if a stream cannot answer it."""
        if self.table != MESSAGES:
            raise OptionError(f"table={self.table} cannot be read as a stream. Use spark.read")
        if self.takes_filters:
            raise OptionError("filterPushdown=true is not supported in a stream: Spark passes it no filters. Use the option where instead")
        if self.takes_limits:
            raise OptionError("limitPushdown=true is not supported in a stream. Use maxOffsetsPerTrigger for small batches")
        values = self.options.values
        refuse_in_streams(self.options, "not in stream of Spark")
        for name in ("starting_timestamp", "starting_physical_offset"):
            if self.start == LATEST and values[name] is not None:
                raise OptionError(f"startingOffsets=latest contradicts {option_name(name)}. Omit one of them")
        return self

    @property
    def corrupt_name(self) -> str | None:
        """The user's name for `corrupt_record`."""
        return self.projection.column_name_of_corrupt_record

    @property
    def has_unasked_bodies(self) -> bool:
        """Whether bodies are among the columns because nobody chose any."""
        return self.options.columns is None and self.projection.columns == DEFAULT_COLUMNS

    def with_columns(self, names: tuple[str, ...]) -> LoadRequest:
        """The same request for these columns."""
        corrupt_name = self.corrupt_name if CORRUPT_RECORD in names else None
        return replace(self, projection=replace(self.projection, columns=names, column_name_of_corrupt_record=corrupt_name))

    def with_columns_of_table(self, names: tuple[str, ...]) -> LoadRequest:
        """The same request for these columns of a table other than `messages`."""
        assert self.selection is not None
        selection = replace(self.selection, columns=names)
        return replace(self, selection=selection, projection=replace(self.projection, columns=selection.needed))

    def open(self) -> Store:
        """The stores as of now."""
        self.connect()
        return nr.open(self.paths or None, **self.places)

    def connect(self) -> None:
        """Reach object storage as requested: before each read, since a worker of Spark reads for several requests."""
        connect(self.paths, self.places)

    def scan(self, store: Store) -> Scan:
        """The messages of opened stores that match the predicate."""
        return Scan(store.stores, self.options, self.predicate)

    def check_topics(self, store: Store, advice: str) -> None:
        """An error for a topic that the options name and the stores do not have. Filters that Spark pushes are not options."""
        if self.needs_topics:
            Scan(store.stores, self.options, predicate_of(self.options)).check_topics(advice)

    def other(self) -> Table[Any]:
        """The requested table, if it is not `messages`."""
        return TABLES[self.table]

    def parts(self) -> Sequence[object]:
        """The parts of that table."""
        return TableScan(self.other(), self.open().stores, self.options, self.selection).parts()


def _taken(values: dict[str, Any], options: Iterable[Option]) -> dict[str, Any]:
    """Take these options out of `values`."""
    return {option.name: values.pop(option.name) for option in options if option.name in values}


def _start(values: dict[str, Any]) -> str | None:
    """Take `earliest` or `latest` out of `values`; in a stream they are not about single queues."""
    start = values.get("starting_offsets", "").strip().lower()
    if start not in (EARLIEST, LATEST):
        return None
    del values["starting_offsets"]
    return str(start)


def _check_table(spark: Mapping[str, Any], messages: Iterable[str]) -> None:
    """Reject options that a table other than `messages` does not take."""
    if spark["filter_pushdown"]:
        raise OptionError(f"table={spark['table']} does not support the option filterPushdown. Filter after loading")
    if spark["limit_pushdown"]:
        raise OptionError(f"table={spark['table']} does not support the option limitPushdown. Omit it: LIMIT works without")
    taken = (*TABLE_OPTIONS, *TABLES[spark["table"]].options)
    for name in messages:
        if name not in taken:
            raise OptionError(
                f"table={spark['table']} does not support the option {option_name(name)}. "
                f"Supported options: {', '.join(map(option_name, taken))}. Filter after loading"
            )


def _is_new_table(options: Mapping[str, str]) -> bool:
    """Whether this is a CREATE TABLE that needs the columns; Spark 4.3 then adds the table's own properties to the options."""
    return "provider" in options and "owner" in options


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    """`load(path)` sets `path`; `load([...])` sets `paths` as JSON. Spark rejects both together."""
    one, several = options.get("path"), options.get("paths")
    if several is None:
        return () if one is None else (one,)
    try:
        paths = json.loads(several)
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise OptionError(f"paths={several!r} is not a list of paths in JSON. Use load(['/a', '/b']) instead")
    return tuple(paths)
