"""A checked `load` request: stores, columns, rows. Kept small, because it is sent with every task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import native_reader as nr
from native_reader.api import TABLE_OPTIONS, Scan, Store, TableScan
from native_reader.checks import size, whole
from native_reader.conditions import predicate_of
from native_reader.errors import OptionError
from native_reader.options import MessageOptions
from native_reader.plan.estimate import TRUST
from native_reader.predicate.tree import Predicate
from native_reader.scan.read import Projection
from native_reader.schema import CORRUPT_RECORD
from native_reader.stream.begin import EARLIEST, LATEST
from native_reader.tables import TABLES
from native_reader.tables.table import Part, Table
from rmqstore_spark.options import checked

MESSAGES = "messages"
_ENDS = {"ending_offsets": "endingOffsets", "ending_timestamp": "endingTimestamp", "ending_physical_offset": "endingPhysicalOffset"}
_BEGINNINGS = {"starting_timestamp": "startingTimestamp", "starting_physical_offset": "startingPhysicalOffset"}
_PLACES = ("store_path_commit_log", "store_path_consume_queue", "store_path_index", "broker_conf")
_NO_PATH = (
    "no path is given. Name a store: .load('/data/store'). If this is a table of the catalog, Spark forgot its OPTIONS, the conditions "
    "too. Use CREATE TEMPORARY VIEW ... USING `rocketmq-store` OPTIONS (path '/data/store', ...), which keeps them"
)

_FORGOTTEN = (
    "CREATE TABLE: Spark keeps a table's columns and forgets its OPTIONS, so {} would be dropped when the table is read. "
    "Use CREATE TEMPORARY VIEW ... USING `rocketmq-store` OPTIONS (...), which keeps them"
)


@dataclass(frozen=True, slots=True)
class Stream:
    """Options for streams only."""

    start: str | None = None
    most_bytes: int | None = None
    most_records: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The checked options of a `load`; nothing is opened yet."""

    paths: tuple[str, ...]
    places: dict[str, Any]
    messages: dict[str, Any]
    table: str = MESSAGES
    takes_filters: bool = False
    stream: Stream = Stream()

    @staticmethod
    def of(options: Mapping[str, str]) -> Request:
        """Check every option, whether it is used or not."""
        values = checked(options)
        if values and _is_new_table(options):
            raise OptionError(_FORGOTTEN.format(next(iter(values))))
        places = {name: values.pop(name) for name in _PLACES if name in values}
        stream = _stream(values)
        asked = {field.name: values[field.name] for field in fields(MessageOptions) if field.name in values}
        table, takes_filters = str(values.get("table", MESSAGES)), bool(values.get("filter_pushdown", False))
        request = Request(_paths(options), places, asked, table, takes_filters, stream)
        if not request.paths and not places:
            raise OptionError(_NO_PATH)
        checks = MessageOptions(**request.messages)
        checks.projection(), predicate_of(checks), checks.planning()
        if request.table != MESSAGES and request.takes_filters:
            raise OptionError(f"table={request.table} does not take the option filterPushdown: it is read whole")
        if request.table != MESSAGES and (unfit := [name for name in asked if name not in TABLE_OPTIONS]):
            taken = ", ".join(TABLE_OPTIONS)
            raise OptionError(f"table={request.table} does not take the option {unfit[0]}: it takes {taken}. Select columns after loading")
        return request

    def for_batch(self) -> Request:
        """This request, or an error if a batch read cannot answer it."""
        if self.stream.start == LATEST:
            raise OptionError("startingOffsets=latest: behind the end of the log there is nothing yet. Only a stream can begin there")
        for name, value in (("maxBytesPerTrigger", self.stream.most_bytes), ("maxOffsetsPerTrigger", self.stream.most_records)):
            if value is not None:
                raise OptionError(f"{name}={value}: only a stream has triggers. spark.read reads all that is there; leave it out")
        return self

    def for_stream(self) -> Request:
        """This request, or an error if a stream cannot answer it."""
        if self.table != MESSAGES:
            raise OptionError(f"table={self.table} cannot be followed as a stream: use spark.read")
        if self.takes_filters:
            raise OptionError("filterPushdown=true: Spark hands no filters to a stream. Say it with where=")
        if self.messages.get("access") == TRUST:
            raise OptionError("access=trust believes that queues know every message, but they learn of new ones last. Leave it out")
        for name, spelt in _ENDS.items():
            if name in self.messages:
                raise OptionError(f"{spelt}: a stream has no end. Leave it out, or use spark.read")
        beginnings = [spelt for name, spelt in _BEGINNINGS.items() if name in self.messages]
        if self.stream.start == LATEST and beginnings:
            raise OptionError(f"startingOffsets=latest contradicts {beginnings[0]}: leave one of them out")
        return self

    @property
    def asked_columns(self) -> str | None:
        """The option `columns`."""
        return self.messages.get("columns")

    @property
    def corrupt_name(self) -> str | None:
        """The user's name for `corrupt_record`."""
        return self.messages.get("column_name_of_corrupt_record")

    @property
    def names(self) -> tuple[str, ...]:
        """The requested columns."""
        return self.projection().columns

    def with_columns(self, names: tuple[str, ...]) -> Request:
        """The same request for these columns."""
        messages = {**self.messages, "columns": names}
        if CORRUPT_RECORD not in names:  # a schema without it
            messages.pop("column_name_of_corrupt_record", None)
        return replace(self, messages=messages)

    def projection(self) -> Projection:
        """The columns, and the limits of the read."""
        return MessageOptions(**self.messages).projection()

    def predicate(self) -> Predicate:
        """The condition that rows must match."""
        return predicate_of(MessageOptions(**self.messages))

    def open(self) -> Store:
        """The stores as of now."""
        return nr.open(self.paths or None, **self.places)

    def scan(self, predicate: Predicate) -> Scan:
        """The messages that match the predicate."""
        return self.open().messages(**self.messages).narrowed(predicate)

    def other(self) -> Table:
        """The requested table, if it is not `messages`."""
        return TABLES[self.table]

    def parts(self) -> list[Part]:
        """The parts of that table."""
        found = self.open().table(self.table, **self.messages)
        assert isinstance(found, TableScan)
        return found.parts()


def _is_new_table(options: Mapping[str, str]) -> bool:
    """Whether this is a CREATE TABLE asking for columns; Spark 4.3 then adds the table's own properties to the options."""
    return "provider" in options and "owner" in options


def _stream(values: dict[str, Any]) -> Stream:
    """Take the stream options out of `values`."""
    start = values.get("starting_offsets")
    start = start.strip().lower() if isinstance(start, str) and start.strip().lower() in (EARLIEST, LATEST) else None
    if start is not None:
        del values["starting_offsets"]
    most_bytes, most_records = values.pop("max_bytes_per_trigger", None), values.pop("max_offsets_per_trigger", None)
    return Stream(
        start,
        None if most_bytes is None else size("max_bytes_per_trigger", most_bytes, 1),
        None if most_records is None else whole("max_offsets_per_trigger", most_records, 1),
    )


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    """`load(path)` sets `path`; `load([...])` sets `paths` as JSON. Spark rejects both together."""
    one, several = options.get("path"), options.get("paths")
    if several is None:
        return () if one is None else (one,)
    try:
        found = json.loads(several)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise OptionError(f"paths={several!r} is no list of paths in JSON. Spark makes it of load(['/a', '/b'])")
    return tuple(found)
