"""The runs of all parts as one account: what entries, queue offsets and records say together about each queue."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.account.runs import NO_TAG, NUMBERS, Place
from native_reader.account.runs import SCHEMA as RUNS
from native_reader.account.states import (
    AS_WANTED,
    AT_LEAST,
    DELETED,
    DOUBTFUL,
    EXPIRED,
    LOST,
    NOT_READ,
    SERVED,
    STATE_OF,
    STATES,
    UNREACHABLE,
    Mark,
    why,
)
from native_reader.arrow import array, batch_of, numpy_of, repeat, scalar
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.record import SMALLEST_RECORD
from native_reader.sentences import Said, say
from native_reader.sentences import joined as joined_said

COLUMNS = {
    "topic": ColumnSpec(pa.string(), "the topic; null if it is not known"),
    "queue_id": ColumnSpec(pa.int32(), "the queue; null if it is not known"),
    "state": ColumnSpec(pa.string(), "`served`, `deleted`, `expired`, `unreachable`, `doubtful`, `lost`, `at least` or `not read`"),
    "why": ColumnSpec(pa.string(), "what shows the state, `no entry` for example"),
    "messages": ColumnSpec(pa.int64(), "how many messages; 0 if that is not known"),
    "bytes": ColumnSpec(pa.int64(), "the sum of the sizes of their records, as far as it is known; or the size of a range of the log"),
    "first_queue_offset": ColumnSpec(pa.int64(), "the first queue offset; null if there is none, or the messages do not follow each other"),
    "last_queue_offset": ColumnSpec(pa.int64(), "the last queue offset"),
    "first_offset": ColumnSpec(pa.int64(), "the first offset in the log; null if it is not known"),
    "last_offset": ColumnSpec(pa.int64(), "the last offset in the log"),
    "first_store_timestamp": ColumnSpec(TIMESTAMP, "when the first was stored. Of lost messages: when the message before them was stored"),
    "last_store_timestamp": ColumnSpec(TIMESTAMP, "when the last was stored. Of lost messages: when the message after them was stored"),
    "tag_hash": ColumnSpec(pa.int64(), "of messages without a record: the hash of their tag, as their queue has it"),
    "file": ColumnSpec(pa.string(), "URI of the file, if the row is about a file and not about messages of a queue"),
}
SCHEMA = pa.schema([pa.field(name, spec.type) for name, spec in COLUMNS.items()])
_MOST = 1_000_000
"""Runs that are joined, about 1 GB. If a corrupt log has more, those of one queue and state become one, and its offsets are not told."""
_WAITING = 1 << 16
"""From so many new runs on, those that follow each other are joined."""
_ROWS = 8192
_FURTHEST = 2**63 - 1
_LATEST = 253_402_300_800_000
"""The year 10000, in milliseconds: Python has no later times."""
Row = dict[str, Any]
Run = dict[str, int]
Range = tuple[int, int]
"""Offsets `[start, stop)`."""
_THERE = frozenset(mark for mark in Mark if mark <= Mark.CHECKSUM) - {
    Mark.FOREIGN,
    Mark.EARLIER_TOPIC,
    Mark.DELETED_TOPIC,
    Mark.IN_NO_QUEUE,
}
"""A record, or what is left of it, has the queue offset."""
_DELIVERED = (Mark.QUEUED, Mark.NOT_DISPATCHED)
_BARE = (Mark.BYTES, Mark.LAST_BYTES, Mark.GAP_BYTES)
"""Bytes that are in no record, and in none that an entry names."""
_CLAIMS = (Mark.REMOVED, Mark.GAP, Mark.ENTRY, Mark.AFTER_END, Mark.UNREAD_RECORD, Mark.GROUP_OFFSET)
"""Something names messages that are not there."""
_NO_MORE = (Mark.COMPRESSION, Mark.CHECKSUM)
"""A record is there, and its message is lost."""
_IN_TIER = (Mark.TIERED, Mark.ONLY_TIERED, Mark.TIER_HOLE, Mark.TIER_BEYOND)
_WITH_TIER = (
    *(Mark.UNREAD_RECORD, *_IN_TIER, *_NO_MORE, Mark.TIER_DOUBT, Mark.TIER_NO_ENTRY, Mark.TIER_DAMAGE, Mark.TIER_FILE),
    *(Mark.REMOVED, Mark.GAP, Mark.ENTRY, Mark.AFTER_END, Mark.GROUP_OFFSET, Mark.BEFORE_BEGIN, Mark.TIER_EXPIRED),
)
"""Beside a tier, the first of these counts for a message that the log does not have whole."""
_BROKEN = (*_NO_MORE, Mark.ENTRY, Mark.GAP, Mark.AFTER_END)
"""The log should have it. A broker then looks there, and not in the tier."""


@dataclass(frozen=True)
class Account:
    """The account of one or several stores: its rows, and their sums.

    Examples:
        >>> check = rmqstore.open("damaged").verify()
        >>> check.to_table().num_rows > 0, check.account.is_whole
        (True, False)
    """

    table: pa.Table

    @staticmethod
    def of(batches: Iterable[pa.RecordBatch]) -> Account:
        """The account with these rows."""
        return Account(pa.Table.from_batches(batches, SCHEMA))

    @cached_property
    def messages(self) -> Mapping[str, int]:
        """How many messages are in each state that occurs; 0 if that is not known."""
        sums = self.table.group_by("state", use_threads=False).aggregate([("messages", "sum")])
        found = dict(zip(sums["state"].to_pylist(), sums["messages_sum"].to_pylist(), strict=True))
        return {state: found[state] for state in STATES if state in found}

    @property
    def is_whole(self) -> bool:
        """Whether every message that anything names is where a broker left it, and everything was read."""
        return self.messages.keys() <= AS_WANTED

    @property
    def lost(self) -> int:
        """How many messages are known to be lost."""
        return self.messages.get(LOST, 0) + self.messages.get(AT_LEAST, 0)

    @property
    def knows_all(self) -> bool:
        """Whether the number of lost messages is exact: nothing shows more, and everything was read."""
        return AT_LEAST not in self.messages and NOT_READ not in self.messages

    @cached_property
    def faults(self) -> pa.Table:
        """The rows of messages that are not where a broker left them."""
        return self.table.filter(pc.invert(pc.is_in(self.table["state"], array(sorted(AS_WANTED)))))

    def after(self, topic: str, queue_id: int, queue_offset: int) -> dict[str, int] | None:
        """How many messages of a queue are in which state, from that queue offset on. None if the account does not tell.

        It tells nothing of light queues, and of queues whose offsets are in no order. What a broker deleted itself, and records that no
        queue gets, are left out.
        """
        begin, stop = self._places.get((topic, queue_id), (0, 0))
        if begin == stop:
            return None
        found = dict[str, int]()
        for row in self._by_place.slice(begin, stop - begin).to_pylist():
            if row["state"] in (DELETED, EXPIRED) or row["why"] == why(Mark.IN_NO_QUEUE):
                continue
            if row["first_queue_offset"] is None:
                return None
            left = row["last_queue_offset"] + 1 - max(row["first_queue_offset"], queue_offset)
            if (count := min(row["messages"], left)) > 0:
                found[row["state"]] = found.get(row["state"], 0) + count
        return found

    @cached_property
    def _by_place(self) -> pa.Table:
        names = ("topic", "queue_id", "state", "why", "messages", "first_queue_offset", "last_queue_offset")
        return self.table.select(names).filter(pc.is_valid(self.table["topic"]))

    @cached_property
    def _places(self) -> dict[Place, Range]:
        """Which rows of these each queue has. `joined` makes those of one queue after those of another."""
        places = zip(self._by_place["topic"].to_pylist(), self._by_place["queue_id"].to_pylist(), strict=True)
        counts = {place: sum(1 for _ in rows) for place, rows in groupby(places)}
        return dict(zip(counts, pairwise(accumulate(counts.values(), initial=0)), strict=True))

    @property
    def said(self) -> Said:
        """How many messages are in which state."""
        counts = {state: count for state, count in self.messages.items() if state not in (LOST, AT_LEAST)}
        tiered = pc.sum(self.table.filter(pc.equal(self.table["why"], scalar(why(Mark.TIERED))))["messages"]).as_py()
        parts = [say(f"account {state}" if count else f"account some {state}", count=count) for state, count in counts.items()]
        if tiered:
            parts[0] = say("account tiered", count=counts[SERVED], tiered=tiered)
        if LOST in self.messages or AT_LEAST in self.messages:
            kind = "lost" if AT_LEAST not in self.messages else "at least" if self.lost else "some lost"
            parts.append(say(f"account {kind}", count=self.lost))
        return joined_said("clauses", parts) if parts else Said("account empty")


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The account: a row for each range of queue offsets that is in one state. Filler of a repaired log is no message."""
    table = _held(batches)
    is_filler = pc.and_(pc.equal(table["topic"], scalar(PLACEHOLDER_TAG)), pc.equal(table["mark"], scalar(int(Mark.IN_NO_QUEUE))))
    table = table.filter(pc.invert(pc.fill_null(is_filler, scalar(False))))
    if not len(table):
        return
    table = table.sort_by([("topic", "ascending"), ("queue_id", "ascending"), ("mark", "ascending"), ("first", "ascending")])
    has_topic = pc.is_valid(table["topic"])
    loose = list(_rows_of(table.filter(pc.invert(has_topic))))
    bare = _Bytes((row["first_offset"], row["last_offset"] + 1) for row in loose if Mark(row["mark"]) in _BARE)
    rows, holes, gaps = list[Row](), 0, list[Range]()
    for (topic, queue_id), group in groupby(_rows_of(table.filter(has_topic)), key=lambda row: (row["topic"], row["queue_id"])):
        own = _Queue((topic, queue_id), list(group), bare)
        rows += own.rows()
        holes += own.unlocated
        gaps += own.gaps
    named = sorted({*gaps, *((row["first_offset"], row["bytes"]) for row in rows if row["why"] == why(Mark.GAP) and row["bytes"])})
    rows += _loose(loose, named, holes=holes, is_dense=not any(row["state"] == LOST for row in rows))
    for begin in range(0, len(rows), _ROWS):
        yield batch_of(rows[begin : begin + _ROWS], SCHEMA)


def _held(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """All runs, or fewer of more messages."""
    table, waiting, rows = pa.Table.from_batches([], RUNS), list[pa.RecordBatch](), 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        if rows > max(_WAITING, len(table)) or rows + len(table) > _MOST:
            table = at_most(connected(pa.concat_tables([table, pa.Table.from_batches(waiting, RUNS)])), _MOST)
            waiting, rows = [], 0
    return pa.concat_tables([table, pa.Table.from_batches(waiting, RUNS)]).combine_chunks()


def connected(table: pa.Table) -> pa.Table:
    """These runs; of messages that are served, each that begins where another one ends is joined to it.

    Each part of the log has a run for each queue, so they grow with queues and parts. Runs in other states are rows of the account.
    """
    is_joined = pc.and_(pc.equal(table["mark"], scalar(int(Mark.QUEUED))), pc.greater_equal(table["first"], scalar(0)))
    served = table.filter(is_joined).sort_by([(name, "ascending") for name in ("topic", "queue_id", "first")]).combine_chunks()
    if len(served) < 2:
        return table
    numbers = {name: numpy_of(served[name]) for name in NUMBERS}
    topics = numpy_of(served["topic"].combine_chunks().dictionary_encode().indices)
    begins = numbers["first"][1:] != numbers["stop"][:-1]
    for whose in (topics, numpy_of(served["queue_id"]), numbers["tag"]):
        begins |= whose[1:] != whose[:-1]
    firsts = np.flatnonzero(np.append(True, begins))
    lasts = np.append(firsts[1:], len(served)) - 1
    sums = {"stop": numbers["stop"][lasts]} | {name: _REDUCED[how].reduceat(numbers[name], firsts) for name, how in _SUMS.items()}
    kept = served.take(array(firsts))
    for name, values in sums.items():
        kept = kept.set_column(RUNS.get_field_index(name), RUNS.field(name), array(values))
    return pa.concat_tables([table.filter(pc.invert(is_joined)), kept])


_SUMS = {"messages": "sum", "bytes": "sum", "first_offset": "min", "last_offset": "max", "first_time": "min", "last_time": "max"}
_REDUCED: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def at_most(table: pa.Table, most: int, keys: Sequence[str] = ("topic", "queue_id", "file", "mark")) -> pa.Table:
    """These runs. If they are more, one for each queue, mark and file; or for each file and mark, if a corrupt log names many queues."""
    if len(table) <= most:
        return table
    sums = table.group_by(list(keys), use_threads=False).aggregate(list(_SUMS.items()))
    if len(sums) > most // 2 and "topic" in keys:
        return at_most(table, most, ("file", "mark"))
    found = {name: sums[name] for name in keys} | {name: sums[f"{name}_{how}"] for name, how in _SUMS.items()}
    found |= {name: repeat(value, len(sums)) for name, value in (("first", -1), ("stop", -1), ("tag", NO_TAG))}
    return pa.table({field.name: found.get(field.name, pa.nulls(len(sums), field.type)) for field in RUNS}, RUNS)


def _rows_of(table: pa.Table) -> Iterator[Row]:
    for batch in table.to_batches(_ROWS):
        yield from batch.to_pylist()


class _Bytes:
    """Ranges of bytes: how many there are between two offsets."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._ranges = merged(ranges)
        self._before = [0, *accumulate(stop - start for start, stop in self._ranges)]

    def between(self, low: int, high: int) -> int:
        """The bytes at or after `low` and before `high`."""
        return max(0, self._below(high) - self._below(low))

    def _below(self, offset: int) -> int:
        after = bisect_right(self._ranges, offset, key=itemgetter(0))
        beyond = max(0, self._ranges[after - 1][1] - offset) if after else 0
        return self._before[after] - beyond


class _Queue:
    """The runs of one queue."""

    def __init__(self, place: Place, runs: list[Row], bare: _Bytes) -> None:
        self._place, self._bare = place, bare
        self._by_mark: dict[Mark, list[Run]] = {}
        has_settings = all(run["mark"] != Mark.NO_SETTINGS for run in runs)
        for run in runs:
            mark = Mark(run["mark"])
            mark = Mark.NO_SETTINGS if mark in _DELIVERED and not has_settings else mark
            self._by_mark.setdefault(mark, []).append({name: value for name, value in run.items() if isinstance(value, int)})
        if not has_settings:  # but the run that says so
            self._by_mark[Mark.NO_SETTINGS] = [run for run in self._by_mark[Mark.NO_SETTINGS] if run["messages"]]
        self._present = sorted(
            (run for mark in _THERE for run in self._by_mark.get(mark, ()) if run["first"] >= 0), key=lambda run: run["first"]
        )
        self._has_tier = any(Mark.TIERED <= mark <= Mark.TIER_BYTES for mark in self._by_mark)
        """Whether a tier was read, and something is known of this queue there."""
        if Mark.TIERED in self._by_mark:
            self._look_in_log(self._by_mark.pop(Mark.TIERED))
        # The tier can have copies of what was deleted.
        self._known = self._ranges(_THERE - {*_NO_MORE} | {Mark.DELETED_TOPIC} if self._has_tier else _THERE)
        # Until each run, the latest and the furthest; from each run on, the earliest and the nearest. A queue can have very many runs.
        self._latest = [(-1, 0), *accumulate(map(itemgetter("last_time", "last_offset"), self._present), _most)]
        backwards = map(itemgetter("first_time", "first_offset"), reversed(self._present))
        self._earliest = [*accumulate(backwards, _least, initial=(_FURTHEST, _FURTHEST))][::-1]
        self.unlocated = 0
        """How many lost messages no entry names: their records can be in any bytes without records."""

    def rows(self) -> Iterator[Row]:
        """The rows of the account."""
        later = _WITH_TIER if self._has_tier else _CLAIMS
        for mark, runs in self._by_mark.items():
            if mark not in (Mark.WRONG_ENTRY, Mark.TIER_BYTES, *later):
                state = STATE_OF[mark]
                ranges = _in_ranges(runs) if state in AS_WANTED else _touching(runs) if state in (UNREACHABLE, DOUBTFUL) else runs
                yield from map(partial(self._row, mark), ranges)
        for mark in later:
            yield from self._claimed(mark)
        yield from self._holes()
        yield from map(partial(self._row, Mark.TIER_BYTES), self._by_mark.get(Mark.TIER_BYTES, ()))

    def _ranges(self, marks: Collection[Mark]) -> list[Range]:
        return merged((run["first"], run["stop"]) for mark in marks for run in self._by_mark.get(mark, ()) if run["first"] >= 0)

    def _look_in_log(self, tiered: list[Run]) -> None:
        """Of what the tier has whole: which messages a broker looks for in its log, where they are damaged."""
        broken = self._ranges(_BROKEN)
        for run in tiered:
            whole = run["first"], run["stop"]
            served = without(whole, broken) if whole[0] >= 0 else [whole]
            for mark, parts in ((Mark.TIERED, served), (Mark.ONLY_TIERED, without(whole, served))):
                self._by_mark.setdefault(mark, []).extend(run if part == whole else run | _part(part) for part in parts)

    @property
    def gaps(self) -> Iterator[Range]:
        """Where messages in missing files began, and their sizes. Beside a tier, they need not be lost."""
        runs = self._by_mark.get(Mark.GAP, ()) if self._has_tier else ()
        return ((run["first_offset"], run["bytes"]) for run in runs)

    def _claimed(self, mark: Mark) -> Iterator[Row]:
        """What entries or groups name and nothing else has."""
        found, reached = list[Range](), -1
        for run in sorted(self._by_mark.get(mark, ()), key=itemgetter("first")):
            first, stop = max(run["first"], reached), run["stop"]
            if run["first"] < 0:
                yield self._row(mark, run)
            elif first < stop:
                rest, reached = without((first, stop), self._known), stop
                found += rest
                yield from (self._row(mark, run if part == (run["first"], stop) else run | _part(part)) for part in rest)
        self._known = merged([*self._known, *found])

    def _holes(self) -> Iterator[Row]:
        """Queue offsets between others that nothing has, as far as the log has room for them: a queue offset can be damaged, too."""
        if any(run["first"] < 0 for mark, runs in self._by_mark.items() if mark in _THERE for run in runs):
            return  # in no order
        ends = [end for each in self._known for end in each]
        for start, stop in without((min(ends), max(ends)), self._known) if ends else ():
            if count := min(stop - start, self._room(start, stop)):
                self.unlocated += count
                yield self._row(Mark.HOLE, _UNKNOWN | {"first": start, "stop": stop, "messages": count})

    def _room(self, start: int, stop: int) -> int:
        """How many records fit into the bare bytes of the log between the messages around these queue offsets."""
        (_, low), (_, high) = self._around(start, stop)
        return self._bare.between(low, high) // SMALLEST_RECORD

    def _row(self, mark: Mark, run: Run) -> Row:
        times = run["first_time"], run["last_time"]
        if mark > Mark.CHECKSUM and run["first_time"] < 0 <= run["first"]:
            (before, _), (after, _) = self._around(run["first"], run["stop"])
            times = before, -1 if after == _FURTHEST else after
        return _row(mark, run, self._place, times)

    def _around(self, start: int, stop: int) -> tuple[Range, Range]:
        """Time and offset of the last record before these queue offsets, which no record has, and of the first one after them."""
        before, after = (bisect_left(self._present, number, key=itemgetter("first")) for number in (start, stop))
        return self._latest[before], self._earliest[after]


_LEASTS, _MOSTS, _ADDED = ("first", "first_offset", "first_time"), ("stop", "last_offset", "last_time"), ("messages", "bytes")


def _in_ranges(runs: list[Run]) -> Iterator[Run]:
    """The runs as sums, one for each range of queue offsets without a hole, and one for those in no order."""
    found = dict[str, int]()
    for run in sorted(runs, key=itemgetter("first")):
        if found and (run["first"] <= found["stop"] if found["first"] >= 0 else run["first"] < 0):
            found |= {name: min(found[name], run[name]) for name in _LEASTS} | {name: max(found[name], run[name]) for name in _MOSTS}
            found |= {name: found[name] + run[name] for name in _ADDED}
            continue
        if found:
            yield found
        found = run | {"tag": NO_TAG}
    yield found


def _touching(runs: list[Run]) -> Iterator[Run]:
    """The runs; each that begins where the one before it ends is joined to it: parts of the log that were checked one after the other."""
    found = dict[str, int]()
    for run in runs:  # by queue offset
        if found and 0 <= run["first"] == found["stop"] and run["tag"] == found["tag"]:
            found |= {name: min(found[name], run[name]) for name in _LEASTS} | {name: max(found[name], run[name]) for name in _MOSTS}
            found |= {name: found[name] + run[name] for name in _ADDED}
            continue
        if found:
            yield found
        found = run
    if found:
        yield found


def _most(one: Range, other: Range) -> Range:
    return max(one[0], other[0]), max(one[1], other[1])


def _least(one: Range, other: Range) -> Range:
    return min(one[0], other[0]), min(one[1], other[1])


def _part(part: Range) -> Run:
    """A part of a run: its records are not known."""
    unknown = {"bytes": 0, "first_offset": -1, "last_offset": -1, "tag": NO_TAG}
    return unknown | {"first": part[0], "stop": part[1], "messages": part[1] - part[0]}


_UNKNOWN = {"bytes": 0, "first_offset": -1, "last_offset": -1, "first_time": -1, "last_time": -1, "tag": NO_TAG}


def _loose(runs: list[Row], named: list[Range], *, holes: int, is_dense: bool) -> Iterator[Row]:
    """What concerns no queue. Bytes without a record are a loss only if nothing else tells which messages they were.

    `named`: where messages of missing files began, ascending, and the sum of their sizes.
    """
    sums = [0, *accumulate(size for _, size in named)]
    for run in runs:
        mark, size = Mark(run["mark"]), run["bytes"]
        if mark == Mark.GAP_BYTES:
            first, stop = (bisect_left(named, (run[end] + step,)) for end, step in (("first_offset", 0), ("last_offset", 1)))
            size -= sums[stop] - sums[first]
            if size <= 0 or holes:
                continue
        if mark not in STATE_OF or (mark == Mark.BYTES and holes) or (mark == Mark.LAST_BYTES and (holes or is_dense)):
            continue
        numbers = {name: value for name, value in run.items() if isinstance(value, int)} | {"bytes": size}
        yield _row(mark, numbers, (None, None), (-1, -1)) | {"file": run["file"]}


def _row(mark: Mark, run: Run, place: tuple[str | None, int | None], times: tuple[int, int]) -> Row:
    names = {"first_queue_offset": run["first"], "last_queue_offset": run["stop"] - 1 if run["stop"] > 0 else -1}
    names |= {name: run[name] for name in ("first_offset", "last_offset")}
    stamps = {
        f"{end}_store_timestamp": time * 1000 if 0 < time < _LATEST else None for end, time in zip(("first", "last"), times, strict=True)
    }
    return {
        "topic": place[0],
        "queue_id": place[1],
        "state": STATE_OF[mark],
        "why": why(mark),
        "messages": min(run["messages"], _FURTHEST),
        "bytes": min(run["bytes"], _FURTHEST),
        **{name: None if value < 0 else value for name, value in names.items()},
        **stamps,
        "tag_hash": None if run["tag"] == NO_TAG else run["tag"],
    }


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The ranges in order, with those that touch or overlap joined."""
    found: list[Range] = []
    for start, stop in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found


def without(whole: Range, taken: list[Range]) -> list[Range]:
    """What is left of a range. `taken`: as `merged` returns them."""
    found, at = list[Range](), whole[0]
    for start, stop in map(taken.__getitem__, range(max(0, bisect_right(taken, (whole[0],)) - 1), len(taken))):
        if start >= whole[1]:
            break
        if start > at:
            found.append((at, start))
        at = max(at, stop)
    return [*found, (at, whole[1])] if at < whole[1] else found
