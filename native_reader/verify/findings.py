"""Findings, counted per code and place, so that a million wrong entries of one queue are one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.account.account import Account
from native_reader.arrow import array, batch_of, numpy_of, scalar
from native_reader.columns.spec import ColumnSpec
from native_reader.errors import spelled
from native_reader.sentences import Said, say
from native_reader.sums import Tally, ones
from native_reader.verify.codes import CODES, ERROR, SEVERITIES, TRUNCATED, WARNING, advice

COLUMNS = {
    "code": ColumnSpec(pa.string(), "the kind of finding; one of the codes below"),
    "severity": ColumnSpec(pa.string(), "`error`, `warning` or `note`"),
    "file": ColumnSpec(pa.string(), "URI of the file or directory"),
    "offset": ColumnSpec(pa.int64(), "the offset in the log of the first place; null if it concerns no record"),
    "last_offset": ColumnSpec(pa.int64(), "the offset in the log of the last place; null if it concerns no record"),
    "topic": ColumnSpec(pa.string(), "the topic; null if it concerns none or several"),
    "queue_id": ColumnSpec(pa.int32(), "the queue; null if it concerns none or several"),
    "count": ColumnSpec(pa.int64(), "how many places one part of the check found: records, entries, keys or ranges"),
    "message": ColumnSpec(pa.string(), "what was found at the first place"),
    "details": ColumnSpec(pa.string(), "what `message` says, without its words: its kind, numbers and names as JSON"),
    "advice": ColumnSpec(pa.string(), "what to do"),
}
SCHEMA = pa.schema([pa.field(name, spec.type) for name, spec in COLUMNS.items()])
_MOST = 100_000
"""Rows for single topics and queues in one part. A corrupt log can name any number of topics; more share a row for each file."""
_MOST_TEXT = 64 << 20
"""The same for their texts: a topic can have 32 KiB."""
_COSTS = 400
"""Bytes of a row that is held, without its topic."""
_OF_TOPIC = "record-of-deleted-topic"
"""Its findings are one row for each topic: where its records are does not matter."""
_QUEUE = "file", "topic", "queue_id"
_Key = tuple[str, str, str | None, int | None]
"""Code, file, topic and queue."""


@dataclass(slots=True)
class _Found:
    said: Said
    offset: int | None
    last: int | None
    count: int


class Findings:
    """Collects the findings of one part. Memory depends on the number of files, not of records."""

    def __init__(self) -> None:
        self._found: dict[_Key, _Found] = {}
        self._text = 0

    def __len__(self) -> int:
        return len(self._found)

    def add(
        self, code: str, file: str, found: Said, offset: int | None = None, *, topic: str | None = None, queue_id: int | None = None,
        count: int = 1, last: int | None = None,
    ) -> None:  # fmt: skip
        """Add `count` places, of which `found` describes the first. `last`: the offset of the last one."""
        key: _Key = code, file, topic, queue_id
        if (len(self._found) >= _MOST or self._text >= _MOST_TEXT) and key not in self._found:
            key = code, file, None, None
        known = self._found.get(key)
        last = offset if last is None else last
        if known is None:
            self._found[key] = _Found(found, offset, last, count)
            self._text += 2 * len(found.text()) + len(topic or "")
        else:
            known.count, known.last = known.count + count, known.last if last is None else last

    def add_rows(
        self, code: str, file: str, offsets: NDArray[np.int64], describe: Callable[[int], Said],
        *, topic: str | None = None, queue_id: int | None = None, contradicts: str | None = None,
    ) -> None:  # fmt: skip
        """Add a place for each offset; `describe` says what was found at the one with that index.

        `contradicts`: the anomaly of whole records there, if this is what an entry says of them.
        """
        if len(offsets):
            first, last = int(offsets[0]), int(offsets[-1])
            self.add(code, file, describe(0), first, topic=topic, queue_id=queue_id, count=len(offsets), last=last)

    def batch(self) -> pa.RecordBatch | None:
        """The findings as rows, the most severe first; None if there are none."""
        if not self._found:
            return None
        severities, codes = list(SEVERITIES), list(CODES)
        rows = sorted(
            self._found.items(),
            key=lambda item: (severities.index(CODES[item[0][0]]), codes.index(item[0][0]), item[1].offset or 0),
        )
        return batch_of([_row(*key, found) for key, found in rows], SCHEMA)


@dataclass(slots=True)
class FirstFindings:
    """The first findings of a check, the most severe first, and how many there are of each severity."""

    most: int = 0
    """How many of them are kept: a store can have a finding for each of a million files."""
    counts: Counter[str] = field(default_factory=Counter)
    error: str | None = None
    """Why the check did not reach its end."""
    account: Account | None = None
    """In which state the messages are, from the same pass, if that is wanted."""
    _first: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {severity: [] for severity in SEVERITIES})

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows of the table `findings`."""
        self.counts.update(batch["severity"].to_pylist())
        for severity, kept in self._first.items():
            if room := self.most - len(kept):
                kept.extend(batch.filter(pc.equal(batch["severity"], severity)).slice(0, room).to_pylist())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Those that are kept."""
        return list(chain.from_iterable(self._first.values()))[: self.most]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong, and each message is where a broker left it."""
        return not self.faults and (self.account is None or self.account.is_whole)

    @property
    def faults(self) -> int:
        """How many are more than notes. That a check did not reach its end is one, too."""
        return self.counts[ERROR] + self.counts[WARNING] + (self.error is not None)


def _row(code: str, file: str, topic: str | None, queue_id: int | None, found: _Found) -> dict[str, object]:
    said, more = found.said, found.count - 1
    if more and found.last is not None and found.last != found.offset:
        said = say("more places until", found=said, count=more, last=found.last)
    elif more:
        said = say("more places", found=said, count=more)
    return {
        **_code_columns(code),
        "file": file,
        "offset": found.offset,
        "last_offset": found.last,
        "topic": topic,
        "queue_id": queue_id,
        "count": found.count,
        **_words_of(said),
    }


def _words_of(said: Said) -> dict[str, object]:
    return {"message": said.text(), "details": said.to_json()}


def _code_columns(code: str) -> dict[str, object]:
    return {"code": code, "severity": CODES[code], "advice": spelled(advice(code), str)}


def by_topic(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same findings, but those about deleted topics come last, one for each topic. Of truncations, only the first of each log."""
    topics, held = _sums_by(*_QUEUE), 0
    truncated = set[str]()
    for each in batches:
        batch = _truncated_once(each, truncated)
        is_held = pc.fill_null(pc.and_(pc.equal(batch["code"], scalar(_OF_TOPIC)), pc.is_valid(batch["queue_id"])), scalar(False))
        others = batch.filter(pc.invert(is_held))
        if len(others):
            yield others
        found = batch.filter(is_held)
        if len(found):
            topics.add(pa.Table.from_batches([found]))
            held += _COSTS * len(found) + pc.sum(pc.utf8_length(found["topic"])).as_py()
        if held > _MOST_TEXT:  # a corrupt log can name any number of topics
            yield from _in_rows(topics)
            topics, held = _sums_by(*_QUEUE), 0
    yield from _in_rows(topics)


def _in_rows(topics: Tally) -> Iterator[pa.RecordBatch]:
    """A row for each deleted topic, if there is one."""
    if (queues := topics.table()) is not None:
        rows = _sums_by("file", "topic", sums=("count", "queues")).grouped(queues.append_column("queues", ones(queues)))
        rows = rows.sort_by([("file", "ascending"), ("offset", "ascending")]).to_pylist()
        yield batch_of([row | _code_columns(_OF_TOPIC) | _words_of(_about_topic(row)) for row in rows], SCHEMA)


def _sums_by(*keys: str, sums: Sequence[str] = ("count",)) -> Tally:
    return Tally(keys, sums, least=("offset",), most=("last_offset",), limit=None)


def _about_topic(row: dict[str, Any]) -> Said:
    kind = "deleted at" if row["count"] == 1 else "deleted from"
    return say(kind, records=row["count"], topic=row["topic"], queues=row["queues"], first=row["offset"], last=row["last_offset"])


def _truncated_once(batch: pa.RecordBatch, known: set[str]) -> pa.RecordBatch:
    """Without truncations of a log that has one: a broker truncates once, and segments come in the order of the log."""
    kept = np.ones(len(batch), bool)
    for row in np.flatnonzero(numpy_of(pc.equal(batch["code"], scalar(TRUNCATED)))).tolist():
        folder = batch["file"][row].as_py().rpartition("/")[0]
        kept[row] = folder not in known
        known.add(folder)
    return batch if kept.all() else batch.filter(array(kept))
