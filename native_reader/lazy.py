"""Reads that have not happened yet: of messages, and of the other tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from native_reader.broker.tier import tier_of
from native_reader.broker.unread import about_tier
from native_reader.checks import MOST_JOBS, whole
from native_reader.columns.batches import CORRUPT_COLUMNS
from native_reader.columns.schema import COLUMNS
from native_reader.conditions import condition_on, predicate_of
from native_reader.errors import option_name, spelled
from native_reader.frames.lazy import Lazy
from native_reader.options import MessageOptions
from native_reader.plan.ends import find_ends
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.plan import Plan, StoreRead, whole_reads
from native_reader.plan.planner import plan_opening, plan_reads
from native_reader.plan.planning import Planning
from native_reader.plan.tiered import tier_may_match
from native_reader.plan.unknown_names import check_topics, doubts_of, log_doubts
from native_reader.plan.ways import NOT_SEEN, TRUST, PlacesOfStores
from native_reader.predicate.tree import EVERYTHING, Predicate, all_of
from native_reader.scan.progress import Watch
from native_reader.scan.run import Run
from native_reader.sentences import ENGLISH, say
from native_reader.storage.local import LocalPath
from native_reader.storage.store import StoreFiles
from native_reader.tables.table import Selection, Table, TableExplanation, TableRequest

if TYPE_CHECKING:
    from native_reader.export.account import Exported
    from native_reader.plan.explain import Explanation

_SHOWN = 300


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


class Scan(Lazy):
    """Messages that have not been read yet. The read is planned once, on first use, so a second use returns the same rows.

    `pyarrow.table(scan)`, `polars.DataFrame(scan)` and `duckdb.sql("from scan")` read it, too.

    Examples:
        >>> scan = rmqstore.open("store").messages(topic="orders", columns="queue_id,tags")
        >>> scan.count_rows()
        122
        >>> import pyarrow
        >>> pyarrow.table(scan).num_rows
        122
    """

    def __init__(
        self,
        stores: tuple[StoreFiles, ...],
        options: MessageOptions,
        predicate: Predicate | None = None,
        ends: Mapping[str, CheckedEnd] | None = None,
    ) -> None:
        self._stores = stores
        self._ends = {} if ends is None else dict(ends)
        """By store URI, once they are found. Copies share it, so that all of them read to the same ends."""
        self._projection, self._zone = options.projection(), options.time_zone
        self._planning = replace(options.planning(), returned=self._projection.returned)
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
            self._plan = self._planned(self._planning)
        return self._plan

    def _planned(self, planning: Planning) -> Plan:
        plan = plan_reads(self._reads(), self._predicate, planning)
        if not planning.tiered:
            return plan
        from native_reader.scan.with_tiers import with_tiers

        return with_tiers(plan, self._stores, self._ends, planning, self._projection)

    @property
    def _depends_on_columns(self) -> bool:
        """Whether fewer columns can have another plan: a summary may have all of them, or the entries of queues."""
        return self._planning.summary is not None or self._planning.access == TRUST

    def _reads(self) -> list[StoreRead]:
        """The whole logs, up to their ends, which are found on first use."""
        if not self._ends:
            self._ends.update(find_ends(self._stores, self._planning))
        return whole_reads(self._stores, self._ends)

    def _copied(self) -> Scan:
        one = copy(self)
        one._projection = replace(self._projection, body_views=False)
        return one

    def _kinds(self) -> dict[str, str]:
        # A column of damaged bytes can have any name.
        return {name: kind for name, kind in super()._kinds().items() if name in COLUMNS}

    def _narrowed(self, columns: Collection[str], condition: Predicate, stops_early: bool) -> Scan:
        if not stops_early and not self._reads_last_segment:
            self._reads()
        one, shows_damage = copy(self), self._projection.has_damage_rows
        kept = tuple(name for name in self._projection.columns if name in columns or (shows_damage and name in CORRUPT_COLUMNS))
        one._projection = replace(self._projection, columns=kept)
        if self._depends_on_columns:
            one._planning, one._plan = replace(self._planning, returned=None if self._planning.in_order else one._projection.returned), None
        # A condition leaves out damage that it need not look at, but another library counts its rows.
        if condition != EVERYTHING and not shows_damage:
            one._predicate, one._plan = all_of((self._predicate, condition)), None
        return one

    def in_order(self) -> Scan:
        """The same messages, all in the order of the log: also those that an index names, or that are made from entries or a summary.

        In a part that was scanned because its queues contradict the log (`report.scanned`), those that the queues named come first.

        Examples:
            >>> scan = store.messages(keys="order-31", columns="physical_offset").in_order()
            >>> offsets = scan.to_table()["physical_offset"].to_pylist()
            >>> offsets == sorted(offsets)
            True
        """
        one = copy(self)
        # What is made without a look at the records is not in their order.
        one._planning, one._plan = replace(self._planning, in_order=True, returned=None), None
        return one

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
        from native_reader.plan.explain import Explanation

        said = tuple(doubt.said for doubt in doubts_of(self._stores, self._predicate) if doubt.said is not None)
        return Explanation(self._stores, self.plan(), self._zone, tuple(spelled(each.text(), str) for each in said), said)

    def doubts(self, spell: Callable[[str], str] = str, language: str = ENGLISH) -> list[str]:
        """List topics, queues and ids in the conditions that are not in the stores, and so may match nothing.

        Args:
            spell: How option names are written.
            language: `en` or `zh`.

        Examples:
            >>> store.messages(topic="oders").doubts()
            ["...'oders'...Did you mean 'orders'?..."]
        """
        doubts = doubts_of(self._stores, self._predicate)
        return [spelled(doubt.said.text(language), spell) for doubt in doubts if doubt.said is not None]

    def unread_tiers(self, spell: Callable[[str], str] = str, language: str = ENGLISH) -> list[str]:
        """List what tiered storage holds that may match, if the scan does not read it.

        Args:
            spell: How option names are written.
            language: `en` or `zh`.

        Examples:
            >>> store.messages().unread_tiers()
            []
        """
        tiers = [] if self._planning.tiered else [(each.uri, tier_of(each.uri, each.config)) for each in self._stores]
        wanted = [tier for uri, tier in tiers if tier is not None and tier_may_match(tier.topics, uri, self._predicate)]
        said = [say("tier can be read", what=about_tier(tier), option=option_name("tiered", True)) for tier in wanted]
        return [spelled(each.text(language), spell) for each in said]

    def check_topics(self, advice: str = "") -> None:
        """Raise an OptionError for a topic that every row must have, if neither the queues nor the settings of a store have it.

        A deleted topic is an error too: the log is not searched. Patterns are none, and a store without queues and settings knows none.

        Args:
            advice: The last sentence of the error.

        Examples:
            >>> store.messages(topic="oders").check_topics()
            Traceback (most recent call last):
            native_reader.errors.OptionError: topic 'oders' is not in the consume queues or the configuration: ...
        """
        check_topics(self._stores, self._predicate, advice)

    def run(self, jobs: int = 1, progress: Watch = False) -> Run:
        """Start a read that also reports: iterate the result for its batches, then use its `report`.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `to_batches`.

        Raises:
            StoreError: As for `plan`; and as for `to_batches`, while the result is iterated.

        Examples:
            >>> run = rmqstore.open("damaged").messages(mode="DROPMALFORMED").run()
            >>> rows = sum(batch.num_rows for batch in run)
            >>> [damage.reason for damage in run.report.damage]
            ['lengths']
        """
        return Run(self.plan(), self._projection, _jobs(jobs), self._doubt, progress)

    def runs(self, jobs: int = 1, progress: Watch = False) -> Iterator[Run]:
        """Start the read in steps, for a reader that stops early: the end of a log is found only when what is before it was read.

        Iterate each run for its batches before you take the next one.

        Args:
            jobs: How many parts are read in parallel.
            progress: As for `to_batches`.

        Raises:
            StoreError: As for `run`.

        Examples:
            >>> [sum(batch.num_rows for batch in run) for run in store.messages(columns="topic").runs()]
            [192, 63]
        """
        is_known = self._plan is not None or bool(self._ends) or self._planning.tiered
        opening = None if is_known else plan_opening(self._stores, self._predicate, self._planning)
        if opening is None:
            yield self.run(jobs, progress)
            return
        first = Run(opening.plan, self._projection, _jobs(jobs), progress=progress)
        yield first
        rest = plan_reads(self._reads(), opening.rest, self._planning)
        yield Run(rest, self._projection, _jobs(jobs), lambda rows: self._doubt(first.report.rows + rows), progress)

    def _from_first(self, jobs: int = 1) -> Iterator[pa.RecordBatch]:
        for run in self.runs(jobs):
            yield from run

    def _streamed(self, jobs: int) -> Iterator[pa.RecordBatch]:
        # Who takes these batches may stop early, as LIMIT does in DuckDB.
        return self._from_first(_jobs(jobs)) if self._reads_last_segment else self.to_batches(jobs)

    @property
    def _reads_last_segment(self) -> bool:
        """Whether to find the end of a log, its last segment must be read: it has no queues."""
        return any(store.consume_queue is None for store in self._stores)

    def _noted(self, note: Callable[[Run], object], stops_early: bool, jobs: int, progress: Watch) -> Iterator[pa.RecordBatch]:
        for run in self.runs(progress=progress) if stops_early else [self.run(jobs, progress)]:
            note(run)
            yield from run

    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Read the rows as an iterator of batches, in log order. But rows that an index names come first: `in_order` changes that.

        Where a summary alone answers, messages of inner batches come before the other rows of their segment. With `trust`, rows that
        are made from queue entries come queue by queue, after the others of their part.

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
        projection = replace(self._projection, columns=())
        # Without the columns, it may have all that counting needs.
        plan = self._planned(replace(self._planning, returned=projection.returned)) if self._depends_on_columns else self.plan()
        run = Run(plan, projection, _jobs(jobs), self._doubt, progress)
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
        from native_reader.export.run import WantedExport, export

        wanted = WantedExport(self._stores, self._predicate, self._copied()._projection, self._planning, self._zone, self.plan)
        files: dict[str, Any] = {"to": to, "partition_by": partition_by, "compression": compression, "text_bodies": text_bodies}
        exported = export(wanted, path, **files, jobs=_jobs(jobs), progress=progress)
        self._doubt(exported.rows)
        return exported

    def _doubt(self, rows: int) -> None:
        """Warn about names in the conditions that the stores do not have, after a read that returned so many rows."""
        log_doubts(self._stores, self._predicate, self._planning.access, rows)


Read = Callable[[Scan], Generator[pa.RecordBatch]]
"""How a scan is read."""


def read_batches(scan: Scan) -> Generator[pa.RecordBatch]:
    """Read a scan one split after the other."""
    yield from scan.to_batches()


class TableScan(Lazy):
    """Rows of a table other than `messages` that have not been read yet. The ends of the logs are determined on first use.

    Examples:
        >>> scan = rmqstore.open("store").table("segments", columns="first_offset,size")
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
        self._table, self._stores = table, stores
        self._selection, self._zone = selection_of(table, options) if selection is None else selection, options.time_zone
        self._projection = options.projection(self._selection.needed)
        planning = replace(options.planning(), lenient=True, fail_on_data_loss=False)
        self._request = TableRequest(stores, planning, self._selection.needed, seen)
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

    @property
    def reads_tier(self) -> bool:
        """Whether the tiers of the stores are read, too."""
        return self._request.planning.tiered

    def _narrowed(self, columns: Collection[str], condition: Predicate, stops_early: bool) -> TableScan:
        self.parts()
        one = copy(self)
        kept = tuple(name for name in self._selection.columns if name in columns)
        one._selection = Selection(kept, all_of((self._selection.predicate, condition)))
        return one

    def of_table(self, table: Table[Any]) -> TableScan:
        """Read another table with the same columns and parts.

        Args:
            table: The table.
        """
        one = copy(self)
        one._table = table
        return one

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
