"""A table: columns, and parts that are read one by one. The rows are a pure function of the part and the bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar

import pyarrow as pa

from native_reader.arrow import array, batch_of
from native_reader.columns.filter import matching
from native_reader.columns.projection import Projection
from native_reader.columns.spec import ColumnSpec, selected
from native_reader.plan.ends import find_ends
from native_reader.plan.lost import CheckedEnd, Missing
from native_reader.plan.plan import StoreRead, whole_reads
from native_reader.plan.planning import Planning
from native_reader.plan.split import SPLIT_COSTS
from native_reader.plan.ways import PlacesOfStores
from native_reader.predicate.tree import EVERYTHING, Predicate
from native_reader.scan.ahead import side_by_side
from native_reader.scan.progress import Meter, PartMeter, Watch
from native_reader.sentences import Said
from native_reader.storage.store import StoreFiles
from native_reader.text import counted, size_of

_ROWS = 8192

Part = TypeVar("Part")
"""The parts of one table: picklable."""


def work_of(part: object) -> int:
    """About how many bytes must be read for a part: its attribute `work`, which a part without much work need not have."""
    return int(getattr(part, "work", SPLIT_COSTS))


@dataclass(frozen=True)
class TableRequest:
    """The input of a table.

    `columns`: those that are needed; None is all. `seen`: where an earlier pass saw every message that the table is made from.
    """

    stores: Sequence[StoreFiles]
    planning: Planning
    columns: Collection[str] | None = None
    seen: PlacesOfStores = field(default_factory=dict)

    @cached_property
    def ends(self) -> Mapping[str, CheckedEnd]:
        """The end of each log, by store URI. Determined on first use: not every table needs it."""
        return find_ends(self.stores, self.planning, self.seen)

    @cached_property
    def reads(self) -> list[StoreRead]:
        """A read of each whole log."""
        return whole_reads(self.stores, self.ends)

    @property
    def knows_ends(self) -> bool:
        """Whether the ends of the logs were determined."""
        return "ends" in vars(self)

    def wants(self, column: str) -> bool:
        """Whether that column is needed. A table plans nothing for a column that is not."""
        return self.columns is None or column in self.columns


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted of a table: these columns of the rows for which the predicate is true."""

    columns: tuple[str, ...]
    predicate: Predicate = EVERYTHING

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns to compute: the selected ones, and those of the condition."""
        return tuple(dict.fromkeys((*self.columns, *(column.name for column in self.predicate.columns()))))


@dataclass(frozen=True)
class Table(Generic[Part]):
    """A table: `parts` plans it; `rows` or `batches` reads one part. A column without a value is null.

    `projection.columns` are the columns that a read needs; others can be left out or null, so expensive ones need not be computed.

    `rows` is for tables with few rows. `batches` must bound the memory of each batch, however large its part is.
    `options`: the options that only this table takes, besides those that all tables take.
    `merged`: combines rows of several parts. It must bound its memory, and gets batches with all columns. A read that has only one
    part, as a task of Spark, combines the rows of that part.
    """

    name: str
    columns: Mapping[str, ColumnSpec]
    parts: Callable[[TableRequest], Sequence[Part]]
    rows: Callable[[Part, Projection], list[dict[str, object]]] | None = None
    batches: Callable[[Part, Projection], Iterator[pa.RecordBatch]] | None = None
    options: tuple[str, ...] = ()
    merged: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None
    of_parts: Mapping[str, ColumnSpec] | None = None
    """The columns of the rows of a part, if `merged` makes others of them."""

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return self.schema_of(self.columns)

    def names_of(self, columns: str | Iterable[str] | None) -> tuple[str, ...]:
        """The requested columns; None is all."""
        return tuple(self.columns) if columns is None else selected(columns, self.columns)

    def schema_of(self, names: Iterable[str]) -> pa.Schema:
        """The schema of these columns."""
        return pa.schema([pa.field(name, self.columns[name].type) for name in names])

    def batch(self, columns: Mapping[str, Any]) -> pa.RecordBatch:
        """A batch of these columns, numpy or Arrow arrays."""
        schema = self.schema_of(name for name in self.columns if name in columns)
        return pa.RecordBatch.from_arrays([array(columns[field.name], field.type) for field in schema], schema=schema)

    def batch_of(self, makers: Mapping[str, Callable[[], Any]], projection: Projection) -> pa.RecordBatch:
        """A batch of the columns that a read needs, each made only then."""
        return self.batch({name: make() for name, make in makers.items() if name in projection.columns})

    def read(self, part: Part, projection: Projection, selection: Selection | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of one part, in batches that are never empty. Without a selection: all rows with all columns."""
        chosen = Selection(tuple(self.columns)) if selection is None else selection
        needed = chosen.needed or tuple(self.columns)[:1]  # a batch without columns would have no rows to count
        batches = self._batches_of(part, replace(projection, columns=needed))
        yield from self.chosen(batches if self.merged is None else self.merged(batches), chosen)

    def chosen(self, batches: Iterable[pa.RecordBatch], chosen: Selection) -> Iterator[pa.RecordBatch]:
        """What is wanted of these batches, in batches that are never empty."""
        needed = chosen.needed or tuple(self.columns)[:1]
        for batch in batches:
            rows = batch if chosen.predicate == EVERYTHING else matching(chosen.predicate, batch)
            if len(rows):
                yield rows.select(list(chosen.columns or needed))

    def read_all(
        self, parts: Sequence[Part], projection: Projection, selection: Selection, jobs: int, progress: Watch
    ) -> Iterator[pa.RecordBatch]:
        """The rows of all parts. Up to `jobs` parts are read in parallel."""
        if self.merged is None:
            yield from self._read_each(parts, projection, selection, jobs, progress)
        else:  # the condition is about the combined rows
            apart = replace(self, merged=None, columns=self.of_parts or self.columns)._read_each(parts, projection, None, jobs, progress)
            yield from self.chosen(self.merged(apart), selection)

    def _read_each(
        self, parts: Sequence[Part], projection: Projection, selection: Selection | None, jobs: int, progress: Watch
    ) -> Iterator[pa.RecordBatch]:
        with Meter(progress, sum(map(work_of, parts))) as meter:
            of_parts = ((part, meter.part(work_of(part))) for part in parts)
            readings = (PartReading(self, part, projection, selection, measured) for part, measured in of_parts)
            if jobs > 1:
                yield from side_by_side(readings, jobs, PartReading.end, meter.look)
                return
            for reading in readings:
                yield from reading
                reading.end()

    def _batches_of(self, part: Part, projection: Projection) -> Iterator[pa.RecordBatch]:
        """All rows of one part, with at least the columns of the projection."""
        if self.batches is not None:
            yield from self.batches(part, projection)
        elif self.rows is not None and (rows := self.rows(part, projection)):
            schema = self.schema_of(projection.columns)
            columns = [array([row.get(field.name) for row in rows], field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


class PartReading(Generic[Part]):
    """The batches of one part, which can end early. `meter` measures it."""

    def __init__(self, table: Table[Part], part: Part, projection: Projection, selection: Selection | None, meter: PartMeter) -> None:
        self._batches = table.read(part, replace(projection, advanced=meter.advance), selection)
        self._meter, self._rows, self._stopped = meter, 0, False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self._rows += len(batch)
            yield batch
            if self._stopped:
                return

    def stop(self) -> None:
        """End after the current batch."""
        self._stopped = True

    def end(self) -> None:
        """The part is over. Call it in the thread that uses the batches."""
        self._meter.end(self._rows)


def batches_of(rows: Iterable[Mapping[str, object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as batches of limited size."""
    rest = iter(rows)
    while several := list(islice(rest, _ROWS)):
        yield batch_of(several, schema)


DETAILS = ColumnSpec(pa.string(), "what `found` says, without its words: its kind, numbers and names as JSON")


def words_of(found: Said | None) -> dict[str, object]:
    """The columns `found` and `details`."""
    return {"found": None, "details": None} if found is None else {"found": found.text(), "details": found.to_json()}


def lost_of(request: TableRequest) -> list[Missing]:
    """Records that other files name after the end of those logs, without ranges that are read as damage."""
    found = (None if end.lost is None else end.lost.missing for end in request.ends.values())
    return [missing for missing in found if missing is not None]


def missing_in(request: TableRequest) -> list[Missing]:
    """Offsets below the end of those logs that no file holds."""
    return [missing for read in request.reads for missing in read.missing()]


@dataclass(frozen=True, slots=True)
class TableExplanation:
    """The read as text (`str`) and as a dict (`to_dict`). `ends`: whether planning had to find the ends of the logs."""

    table: Table[Any]
    selection: Selection
    stores: tuple[StoreFiles, ...]
    parts: tuple[object, ...]
    ends: bool
    zone: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The read as a dict."""
        needed = self.selection.needed
        return {
            "table": self.table.name,
            "stores": [store.uri for store in self.stores],
            "predicate": str(self.selection.predicate),
            "time_zone": self.zone,
            "columns": list(self.selection.columns),
            "only_for_the_condition": [name for name in needed if name not in self.selection.columns],
            "not_computed": [name for name in self.table.columns if name not in needed],
            "segments": sum(len(store.segments) for store in self.stores),
            "parts": len(self.parts),
            "ends_of_logs": self.ends,
        }

    def lines(self) -> Iterator[str]:
        """The text, line by line."""
        facts = self.to_dict()
        yield f"{facts['table']} where {facts['predicate']}"
        if self.zone is not None:
            yield f" times without a time zone are in {self.zone}"
        yield f" columns       {', '.join(facts['columns'])}"
        for label, names in (("for where", facts["only_for_the_condition"]), ("not computed", facts["not_computed"])):
            if names:
                yield f" {label:<13} {', '.join(names)}"
        for store in self.stores:
            yield f" {store.uri}: {counted(len(store.segments), 'segment')}, {size_of(sum(segment.size for segment in store.segments))}"
        ends = "after a search for the ends of the logs" if self.ends else "without a search for the ends of the logs"
        yield f" reads         {counted(facts['parts'], 'part')}, {ends}"

    def __str__(self) -> str:
        return "\n".join(self.lines())
