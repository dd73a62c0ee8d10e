"""The rows about one topic: a message each where its queue entry is there, else a range of queue offsets; and their sums."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain, groupby
from typing import Any, NamedTuple

from native_reader.account.account import Range, merged
from native_reader.account.states import DOUBTFUL, LOST, NOT_READ, STATES
from native_reader.lost.evidence import Evidence, is_tag_hash
from native_reader.sentences import Said

COLUMNS = (
    *("topic", "queue_id", "first_queue_offset", "last_queue_offset", "messages", "state", "why", "cause"),
    *("first_store_timestamp", "last_store_timestamp", "physical_offset", "size", "tag_hash", "tags", "keys", "read_by", "not_read_by"),
)
"""docs/verify.md describes them."""
_ALONE = (LOST, DOUBTFUL, NOT_READ)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMULAS = ("=", "+", "-", "@")
"""With which a spreadsheet takes a text for a formula."""
Row = Mapping[str, Any]
Times = tuple[datetime | None, datetime | None]


class _Part(NamedTuple):
    """Queue offsets of one row. `offset`, `size`: of the record, or of all of them."""

    first: int | None
    last: int | None
    offset: int | None = None
    size: int | None = None
    tag: int | None = None


@dataclass(frozen=True)
class TopicLoss:
    """What consumers of a topic cannot get.

    Attributes:
        topic: Its name.
        rows: Its rows of the account that are not `served`, `deleted` or `expired`.
        evidence: What else is known.
        team: To whom it belongs; None without owners.
        folder: Where its files are.
    """

    topic: str
    rows: Sequence[Row] = field(repr=False)
    evidence: Evidence = field(repr=False)
    team: str | None
    folder: str

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many messages are in each state that occurs; 0 if that is not known."""
        found = {state: 0 for state in STATES if any(row["state"] == state for row in self.rows)}
        for row in self.rows:
            found[row["state"]] += row["messages"]
        return found

    @property
    def times(self) -> Times:
        """Between which times the messages were stored, as far as it is known."""
        return times_of(self.rows)

    @cached_property
    def ranges(self) -> dict[tuple[int, str], list[Range]]:
        """The queue offsets `[start, stop)` of each queue and state."""
        found: dict[tuple[int, str], list[Range]] = {}
        for row in self.rows:
            if row["first_queue_offset"] is not None:
                found.setdefault((row["queue_id"], row["state"]), []).append((row["first_queue_offset"], row["last_queue_offset"] + 1))
        return {place: merged(ranges) for place, ranges in sorted(found.items())}

    @cached_property
    def groups(self) -> dict[tuple[str, str], tuple[int, int]]:
        """By group and state: how many of these messages are before the offset of the group, and how many are not."""
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for (queue_id, state), ranges in self.ranges.items():
            for group, committed in self.evidence.groups.get((self.topic, queue_id), {}).items():
                before = sum(max(0, min(stop, committed) - start) for start, stop in ranges)
                passed, left = found.get((group, state), (0, 0))
                found[group, state] = passed + before, left + sum(stop - start for start, stop in ranges) - before
        return dict(sorted(found.items()))

    def tell(self) -> Iterator[dict[str, Any]]:
        """The rows of its files."""
        for row in self.rows:
            yield from (self._row(row, part) for part in self._parts(row))

    def _parts(self, row: Row) -> Iterator[_Part]:
        """Each message of a row that an entry of the queue names, and the ranges between them; or all of the row."""
        first, last = row["first_queue_offset"], row["last_queue_offset"]
        whole = _Part(first, last, row["first_offset"], row["bytes"] or None, row["tag_hash"])
        entries = self.evidence.entries.get((self.topic, row["queue_id"])) if row["state"] in _ALONE else None
        if entries is None or first is None:
            yield whole
            return
        reached = first
        for number, count, offset, size, tag in zip(*(each.tolist() for each in entries.cut(first, last + 1)), strict=True):
            if number > reached:
                yield _Part(reached, number - 1, tag=row["tag_hash"])
            yield _Part(number, number + count - 1, offset, size, tag)
            reached = number + count
        if reached <= last:
            yield whole if reached == first else _Part(reached, last, tag=row["tag_hash"])

    def _row(self, row: Row, part: _Part) -> dict[str, Any]:
        first, last, offset, size, tag = part
        tag = tag if tag is not None and is_tag_hash(self.topic, tag) else None
        groups = self.evidence.groups.get((self.topic, row["queue_id"]), {})
        values = (
            *(self.topic, row["queue_id"], first, last),
            row["messages"] if first is None or last is None else last - first + 1,
            *(row["state"], row["why"], Said(f"because {row['why']}").text()),
            *(time_of(row[f"{end}_store_timestamp"]) for end in ("first", "last")),
            *(offset, size, tag),
            [] if tag is None else list(self.evidence.tags.get((self.topic, tag), ())),
            [] if offset is None else [{"hash": code, "stored": _index_time(time)} for code, time in self.evidence.indexed.at(offset)],
            *([] if last is None else [group for group, at in groups.items() if (at > last) == passed] for passed in (True, False)),
        )
        return dict(zip(COLUMNS, values, strict=True))


def times_of(rows: Iterable[Row]) -> Times:
    """The first and the last time of these rows; None if one of them does not say."""
    firsts, lasts = zip(*((row["first_store_timestamp"], row["last_store_timestamp"]) for row in rows), strict=True)
    return (None if None in firsts else min(firsts)), (None if None in lasts else max(lasts))


def topics_in(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each topic, as they come; those without a topic are left out."""
    for topic, own in groupby(rows, key=lambda row: row["topic"]):
        if topic is not None:
            yield topic, list(_joined(own))


def _joined(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, with ranges that continue in the next file of the log as one. Rows whose messages get a row each stay."""
    last: dict[str, Any] | None = None
    for row in rows:
        if last is not None and _continues(last, row):
            last |= {name: row[name] for name in ("last_queue_offset", "last_offset", "last_store_timestamp")}
            last |= {name: last[name] + row[name] for name in ("messages", "bytes")}
            continue
        if last is not None:
            yield last
        last = dict(row)
    if last is not None:
        yield last


def _continues(last: Row, row: Row) -> bool:
    first, is_same = row["first_queue_offset"], all(last[name] == row[name] for name in ("queue_id", "state", "why", "tag_hash"))
    return is_same and row["state"] not in _ALONE and first is not None and last["last_queue_offset"] == first - 1


def time_of(moment: datetime | None) -> str | None:
    """A time in UTC, with milliseconds."""
    return None if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + "Z"


def _index_time(microseconds: int) -> str | None:
    return None if microseconds <= 0 else f"{_EPOCH + timedelta(microseconds=microseconds):%Y-%m-%d %H:%M:%SZ}"


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """A line of JSON for each row."""
    for row in rows:
        yield json.dumps(
            {name: time_of(value) if isinstance(value, datetime) else value for name, value in row.items()}, ensure_ascii=False
        )


def csv_lines(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """The names of the columns, and a line of CSV for each row, for spreadsheets. No text is taken for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="")
    for cells in chain([names], ([_cell(row[name]) for name in names] for row in rows)):
        text.seek(0)
        text.truncate()
        writer.writerow(cells)
        yield text.getvalue()


def _cell(value: Any) -> Any:
    match value:
        case datetime():
            return time_of(value)
        case list():
            return " ".join(f"{each['hash']}@{each['stored']}" if isinstance(each, dict) else visible(each) for each in value)
        case str():
            shown = visible(value)
            return f"'{shown}" if shown.startswith(_FORMULAS) else shown
        case _:
            return value


def visible(text: str) -> str:
    """The text with control and other invisible characters as escapes: a damaged store can have any names."""
    return text if text.isprintable() else "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
