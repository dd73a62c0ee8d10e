"""The difference of two stores: a lazy table of the messages that only one of them has, and what it says in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from native_reader.account.account import Account
from native_reader.account.states import Mark, why
from native_reader.broker.unread import unread_parts
from native_reader.compare.lacking import (
    MISSING,
    NAMES,
    PARTED,
    READ,
    READ_OF_LACKING,
    READ_WHOLE,
    SCHEMA,
    Overlap,
    Span,
    by_key,
    by_offset,
    steps,
)
from native_reader.compare.masters import Side, said_of_masters
from native_reader.compare.states import StatesOf, with_states
from native_reader.errors import UseError
from native_reader.frames.lazy import Lazy
from native_reader.lazy import Scan, TableScan
from native_reader.options import LENIENT, TABLE_OPTIONS, MessageOptions
from native_reader.plan.ways import SCAN
from native_reader.scan.progress import Watch
from native_reader.sentences import ENGLISH, Said, say
from native_reader.storage.store import StoreFiles, past_failures
from native_reader.tables.findings import FINDINGS
from native_reader.text import size_of
from native_reader.verification import Verification

_OF_RECORDS = ("verify_crc", "access")
"""Options of messages that choose none of them."""
_OF_ROWS = ("columns", "where", "time_zone")


class Diff(Lazy):
    """The messages that only one of two stores has, one row each. It reads when it is used; a second use reads again.

    `counts`, `parted_at`, `is_same`, `accounts`, `is_clean` and `lines` are about the last use: read the rows first.

    Examples:
        >>> found = rmqstore.diff("store", "damaged")
        >>> found.to_table().num_rows, found.is_same, found.parted_at
        (9, False, None)
        >>> print(*found.lines(), sep="\\n")
        a: file://.../store, offsets 0 to 130,742
        ...
    """

    def __init__(self, stores: Sequence[StoreFiles], options: Mapping[str, Any], heads: bool = False) -> None:
        self._stores = tuple(map(past_failures, stores))
        self._options = MessageOptions(**{"verify_crc": not heads, **options}, **LENIENT)
        self._heads = heads or not self._options.values["verify_crc"]
        self._overlap: Overlap | None = None
        self._spans: list[Span] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._accounts: tuple[Account, ...] = ()
        of_whole_stores = {name: value for name, value in options.items() if name in TABLE_OPTIONS and name not in _OF_ROWS}
        self._of_check = MessageOptions(**of_whole_stores)
        self._is_filtered = any(value is not None for name, value in options.items() if name not in (*of_whole_stores, *_OF_RECORDS))

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        return SCHEMA

    def __repr__(self) -> str:
        one, other = (store.uri for store in self._stores)
        read = "Not read yet" if self._overlap is None else f"{self._counts.total():,} differences"
        return f"<Diff {one} and {other}: {read}. Next: .to_table(), .to_batches(), then .lines(), .counts, .parted_at, .is_clean>"

    def to_batches(self, jobs: int = 1, progress: Watch = False) -> Iterator[pa.RecordBatch]:
        """Check each store, read both logs side by side, then again from their first difference on.

        If only heads are compared, the stores are not checked.

        Args:
            jobs: How many parts of each log are read in parallel.
            progress: As for `Scan.to_batches`; it shows how far each check is, then how far the first log is read.
        """
        self._overlap, self._counts = None, Counter()
        self._accounts = () if self._heads else tuple(self._account(store, jobs, progress) for store in self._stores)
        scans = [self._scan(store, READ if self._heads else READ_WHOLE) for store in self._stores]
        self._spans = [Span(store.min_offset, _end_of(scan)) for store, scan in zip(self._stores, scans, strict=True)]
        overlap = Overlap.of(steps(scans[0].schema, *_read(scans, jobs, progress)))
        states = [(StatesOf(account, of_other=False), StatesOf(account, of_other=True)) for account in self._accounts]
        for batch in self._lacking(overlap, jobs, progress):
            self._counts.update(zip(batch["only_in"].to_pylist(), batch["difference"].to_pylist(), strict=True))
            yield with_states(batch, states) if states else batch
        self._overlap = overlap

    def _account(self, store: StoreFiles, jobs: int, progress: Watch) -> Account:
        check = Verification((store,), TableScan(FINDINGS, (store,), self._of_check))
        for _ in check.to_batches(jobs, progress):
            pass
        return check.account

    def _lacking(self, overlap: Overlap, jobs: int, progress: Watch) -> Iterator[pa.RecordBatch]:
        if overlap.differ_from is None:
            return
        if overlap.until is not None:
            columns = dict.fromkeys((*READ_OF_LACKING, *(() if self._heads else READ_WHOLE)))
            scans = [self._scan(store, tuple(columns), overlap.differ_from) for store in self._stores]
            yield from by_offset(steps(scans[0].schema, *_read(scans, jobs, progress)), self._spans, overlap.parted_at)
        if overlap.until is None or overlap.parted_at is not None:
            start = overlap.parted_at or 0
            yield from by_key(partial(self._messages, start, jobs), PARTED if start else MISSING)

    def _messages(self, start: int, jobs: int, side: int) -> Iterator[pa.RecordBatch]:
        return self._scan(self._stores[side], READ_OF_LACKING, start).to_batches(jobs)

    def _scan(self, store: StoreFiles, columns: Sequence[str], start: int = 0) -> Scan:
        """A read in the order of the log."""
        asked = self._options.starting_physical_offset or 0
        # What an index names comes first.
        is_looked_up = any(self._options.values[name] is not None for name in ("keys", "msg_id", "where"))
        access = SCAN if is_looked_up else self._options.access
        start = max(asked, start)
        return Scan((store,), replace(self._options, columns=list(columns), starting_physical_offset=start or None, access=access))

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """The number of messages that only one store has, by that store (`a` or `b`) and the kind of difference."""
        self._read()
        return self._counts

    @property
    def parted_at(self) -> int | None:
        """The offset where the logs part: after it, both have messages, and none at the same place. None if they do not."""
        return self._read().parted_at

    @property
    def is_same(self) -> bool:
        """Whether neither store has a message that the other lacks."""
        return not self.counts

    @property
    def accounts(self) -> tuple[Account, ...]:
        """In which state the messages of each store are, all of them, whatever is compared. Empty if only heads are compared."""
        self._read()
        return self._accounts

    @property
    def is_clean(self) -> bool:
        """Whether the stores are the same, and each message of both is where a broker left it; of heads: whether all was read.

        A log that was copied alone has no queues that could name its messages.
        """
        is_whole = all(map(_is_whole, self._stores, self.accounts)) if self.accounts else not any(map(_unread, self._stores))
        return self.is_same and is_whole

    def lines(self, language: str = ENGLISH) -> Iterator[str]:
        """What was found, in a few lines.

        Args:
            language: `en` or `zh`.
        """
        return (said.text(language) for said in self.said())

    def said(self) -> Iterator[Said]:
        """The same, without its words."""
        overlap = self._read()
        for place, (name, store, span) in enumerate(zip(NAMES, self._stores, self._spans, strict=True)):
            yield say("side", name=name, store=store.uri, begin=span.begin, end=span.end)
            if self._accounts:
                kind = "log of side" if _is_log_alone(store) else "states of side"
                yield say(kind, name=name, states=self._accounts[place].said)
            else:
                yield from (say("side not read", name=name, what=each) for each in _unread(store))
        if overlap.records:
            yield say("shared", records=overlap.records, size=size_of(overlap.size))
        if overlap.until is None and all(overlap.after):
            yield say("unshared")
        if overlap.parted_at is not None:
            yield say("parted", offset=overlap.parted_at)
        sides = [Side(*each) for each in zip(NAMES, self._stores, (span.end for span in self._spans), strict=True)]
        yield from said_of_masters(sides, self._same_until(overlap))
        for (name, difference), count in sorted(self._counts.items()):
            yield say("only", count=count, name=name, difference=say(f"only {difference}"))
        if self._heads:
            yield say("heads compared")
        if self.is_clean:
            yield say("no differences of heads" if self._heads else "no differences")
        elif self.is_same:
            yield say("same but not whole")

    def _same_until(self, overlap: Overlap) -> int | None:
        """Where the bytes of both logs part, or one of them ends; None if only some messages were compared, or a log has none."""
        if self._is_filtered or (overlap.until is None and not all(overlap.after)):
            return None
        ends = min(span.end for span in self._spans) if overlap.until is not None else 0
        return ends if overlap.parted_at is None else overlap.parted_at

    def _read(self) -> Overlap:
        if self._overlap is None:
            raise UseError("a Diff counts what was read. Read all rows first, with .to_table() or .to_batches()")
        return self._overlap


def _is_log_alone(store: StoreFiles) -> bool:
    return not (store.queues or store.databases or store.config)


def _is_whole(store: StoreFiles, account: Account) -> bool:
    if _is_log_alone(store):
        return all(row["why"] == why(Mark.NO_QUEUE) for row in account.faults.to_pylist())
    return account.is_whole


def _unread(store: StoreFiles) -> list[Said]:
    """The parts of the store that are not read. A second copy of a part does not count."""
    return [each.why for each in unread_parts(store) if each.is_loss]


def _end_of(scan: Scan) -> int:
    ((_, end),) = scan.plan().ends
    return end


def _read(scans: Sequence[Scan], jobs: int, progress: Watch) -> Iterator[Iterator[pa.RecordBatch]]:
    """The rows of both. One bar is enough: they are read side by side."""
    return (scan.to_batches(jobs, progress if side == 0 else False) for side, scan in enumerate(scans))
