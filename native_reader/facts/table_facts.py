"""The facts of other tables of a store: lag by group, pending messages, and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import repeat
from native_reader.errors import StoreError
from native_reader.facts.seen import Seen
from native_reader.lazy import TableScan
from native_reader.options import MessageOptions
from native_reader.plan.ways import NOT_SEEN, Places
from native_reader.scan.progress import Watch
from native_reader.sides.bounds import type_of
from native_reader.storage.store import StoreFiles
from native_reader.sums import Tally
from native_reader.tables import TABLES
from native_reader.tables.account import with_account
from native_reader.tables.queues import OlderRecords, warn_of_rocksdb
from native_reader.verify.findings import FirstFindings
from native_reader.witness.entries import Sample
from native_reader.witness.look import look_at_queues

_MOST_FINDINGS = 100
_TEXT = pa.string()

Made = TypeVar("Made")


class Problem(NamedTuple):
    """Why a part of the page is missing."""

    text: str


class Tables(NamedTuple):
    """The tables of one store, and how to read them."""

    files: StoreFiles
    jobs: int = 1
    options: Mapping[str, Any] = MappingProxyType({})
    progress: Watch = False

    def batches(self, name: str, *columns: str, places: Places | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a table; all columns if none is named. `places`: where the messages are that it is made from, if known."""
        return self.scan(name, *columns, places=places).to_batches(self.jobs, self.progress)

    def scan(self, name: str, *columns: str, places: Places | None = None) -> TableScan:
        """The same, not read yet."""
        options = MessageOptions(columns=columns or None, **self.options)
        seen = NOT_SEEN if places is None else {self.files.uri: places}
        return TableScan(TABLES[name], (self.files,), options, seen=seen)


def attempt(read: Callable[[Tables], Made], tables: Tables) -> Made | Problem:
    """What `read` returns; an error of the store is shown on the page, and the other parts are still read."""
    try:
        return read(tables)
    except StoreError as error:
        return Problem(str(error))


@dataclass(slots=True)
class LagOfGroups:
    """Messages that groups have not consumed. `unknown`: offsets whose queue is not there; `ahead`: offsets after the end of a queue."""

    groups: Tally = field(
        default_factory=lambda: Tally(("group", "topic"), ("lag", "queues", "expired"), least=("oldest",), most=("largest",))
    )
    offsets: int = 0
    unknown: int = 0
    ahead: int = 0


def read_lag(tables: Tables) -> LagOfGroups:
    """The table `consumer_offsets`, by group and topic."""
    lag = LagOfGroups()
    for batch in tables.batches("consumer_offsets", "group", "topic", "lag", "expired", "oldest_unread"):
        behind = batch["lag"]
        lag.offsets += len(batch)
        lag.unknown += behind.null_count
        lag.ahead += int(pc.sum(pc.less(behind, 0)).as_py() or 0)
        known = pc.max_element_wise(behind, 0)
        columns = {"group": batch["group"], "topic": batch["topic"], "lag": known, "largest": known, "queues": _ones(batch)}
        unread = {"expired": batch["expired"].fill_null(0), "oldest": batch["oldest_unread"].cast(pa.int64())}
        lag.groups.add(pa.table(columns | unread))
    return lag


def look_at_all_queues(tables: Tables) -> list[Sample]:
    """A few entries of each queue. What else is said of queues is made of it: to open 200,000 takes longer than all other looks."""
    warn_of_rocksdb((tables.files,))
    return look_at_queues(tables.files, tables.progress)


def older_of(samples: Sequence[Sample] | Problem) -> dict[str, int] | Problem:
    """By topic, the most first: how many records queues name from before the log."""
    if isinstance(samples, Problem):
        return samples
    older = OlderRecords()
    for sample in samples:
        older.add(sample.queue.topic, type_of(sample.queue), sample.bounds)
    return older.by_topic()


@dataclass(slots=True)
class Pending:
    """Delayed messages by level, or by `timer`, and transactions without a decision."""

    delayed: Tally = field(
        default_factory=lambda: Tally(("level", "state"), ("messages", "overdue"), least=("due", "since"), most=("latest",))
    )
    halves: Tally = field(default_factory=lambda: Tally(("topic", "producer_group"), ("messages",), least=("since",), most=("checks",)))
    fates: Counter[str] = field(default_factory=Counter)


def read_pending(tables: Tables, now: int, seen: Seen, is_damaged: bool = False) -> Pending:
    """The tables `delay`, `timers` and `transactions`, if the log has messages for them. `is_damaged`: whether a part of it is lost."""
    pending = Pending()
    for name, level, since in (("delay", "delay_level", "store_timestamp"), ("timers", None, "first_store_timestamp")):
        if not seen.has(name):
            continue
        for batch in tables.batches(name, "state", "due_timestamp", since, *([level] if level else []), places=seen.places(name)):
            due = batch["due_timestamp"].cast(pa.int64())
            levels = pa.nulls(len(batch), pa.int32()) if level is None else batch[level]
            is_late = pc.and_(pc.less(due, now), pc.equal(batch["state"], "pending"))
            columns = {
                "level": levels,
                "state": batch["state"].cast(_TEXT),
                "messages": _ones(batch),
                "overdue": pc.fill_null(is_late, False).cast(pa.int64()),
                "due": due,
                "latest": due,
                "since": batch[since].cast(pa.int64()),
            }
            pending.delayed.add(pa.table(columns))
    if not seen.has("transactions"):
        return pending
    # What was lost may have decided a transaction, so of a damaged log the table must know where it is damaged.
    places = None if is_damaged else seen.places("transactions")
    for batch in tables.batches("transactions", "fate", "topic", "producer_group", "first_store_timestamp", "checks", places=places):
        pending.fates.update(batch["fate"].cast(_TEXT).to_pylist())
        undecided = batch.filter(pc.equal(batch["fate"], "undecided"))
        columns = {
            "topic": undecided["topic"].cast(_TEXT),
            "producer_group": undecided["producer_group"].cast(_TEXT),
            "messages": _ones(undecided),
            "since": undecided["first_store_timestamp"].cast(pa.int64()),
            "checks": undecided["checks"],
        }
        pending.halves.add(pa.table(columns))
    return pending


def read_dead(tables: Tables, seen: Seen) -> Tally:
    """The table `dlq`, by group and origin topic, if the log has dead messages."""
    dead = Tally(("group", "origin_topic"), ("messages", "bytes"), least=("first",), most=("last", "failures"))
    if seen.has("dlq"):
        for batch in tables.batches("dlq", places=seen.places("dlq")):
            columns = {name: batch[name] for name in ("group", "origin_topic", "messages", "bytes")}
            times = {name: batch[f"{name}_store_timestamp"].cast(pa.int64()) for name in ("first", "last")}
            dead.add(pa.table(columns | times | {"failures": batch["max_reconsume_times"]}))
    return dead


def read_findings(tables: Tables) -> FirstFindings:
    """The table `findings`, and the account: it reads all bytes of the store and checks every checksum."""
    findings = FirstFindings(_MOST_FINDINGS)
    check = with_account(lambda account: setattr(findings, "account", account))
    for batch in tables.scan("findings").of_table(check).to_batches(tables.jobs, tables.progress):
        findings.add(batch)
    return findings


def _ones(rows: pa.RecordBatch) -> pa.Array:
    return repeat(1, len(rows))
