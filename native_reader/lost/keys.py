"""Which of some keys are in whole records, and which may have been in lost ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.account.account import Account
from native_reader.account.runs import Place
from native_reader.account.states import DOUBTFUL, LOST, UNREACHABLE, Mark, why
from native_reader.arrow import array, scalar
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.record import Mask, Numbers
from native_reader.lost.evidence import Entries, Indexed, groups_of
from native_reader.lost.hashes import java_hashes, key_hashes

WHOLE, POSSIBLY_LOST, WAITING, NOT_SEEN = "whole", "possibly lost", "waiting", "not seen"
ANSWERS = (LOST, POSSIBLY_LOST, DOUBTFUL, UNREACHABLE, WHOLE, WAITING, NOT_SEEN)
"""The answer for a key is the first of those of its messages. Waiting: a whole one, in a topic of the broker itself, delayed or half."""
KEY_COLUMNS = ("key", "answer", "topic", "queue_id", "queue_offset", "physical_offset", "store_timestamp")
RECORD_COLUMNS = ("topic", "queue_id", "queue_offset", "physical_offset", "store_timestamp", "keys", "uniq_key")
_MOST_EACH = 100
"""How many messages are listed for one key."""
_OF_RECORDS = sorted({why(mark) for mark in Mark if mark <= Mark.CHECKSUM or Mark.TIERED <= mark <= Mark.TIER_DAMAGE})
_TOLD = (LOST, DOUBTFUL, UNREACHABLE)
_FURTHEST = 2**63 - 1
_BOUNDS = ("first_queue_offset", "last_queue_offset", "first_offset", "last_offset")


class States:
    """In which state whole records are, other than `served`."""

    def __init__(self, account: Account) -> None:
        rows = account.faults
        rows = rows.filter(pc.and_(pc.is_in(rows["why"], array(_OF_RECORDS)), pc.is_in(rows["state"], array(_TOLD))))
        self._rows: dict[Place, tuple[Numbers, ...]] = {}
        for batch in rows.combine_chunks().to_batches():
            for place, of_place in groups_of(batch):
                ends = zip(_BOUNDS, (-1, -1, -1, _FURTHEST), strict=True)  # a record of a tier has a place in another log
                columns = [batch[name].fill_null(end).to_numpy(zero_copy_only=False)[of_place] for name, end in ends]
                states = pc.index_in(batch["state"], array(_TOLD)).to_numpy(zero_copy_only=False)[of_place]
                order = np.argsort(columns[0], kind="stable")
                self._rows[place] = tuple(each.astype(np.int64)[order] for each in (*columns, states))

    def of(self, place: Place, numbers: Numbers, offsets: Numbers) -> Numbers:
        """For each record of a queue: the place of its state in `_TOLD`; -1 if it is whole, and its queue leads to it."""
        found = np.full(len(numbers), -1)
        if place not in self._rows:
            return found
        firsts, lasts, low, high, states = self._rows[place]
        for row in range(int(np.searchsorted(firsts, 0))):  # in no order: a row for each state
            found[(offsets >= low[row]) & (offsets <= high[row])] = states[row]
        at = np.searchsorted(firsts, numbers, "right") - 1
        inside = (at >= 0) & (numbers <= lasts[at]) & (offsets >= low[at]) & (offsets <= high[at])
        return np.where(inside, states[at], found)


class AskedKeys:
    """Add all records; then what the index has at lost places; then take `rows`."""

    def __init__(self, keys: Sequence[str], account: Account) -> None:
        self.keys = list(dict.fromkeys(keys))
        self._values = array(self.keys, pa.string())
        self._states = States(account)
        self._counts = np.zeros(len(self.keys), np.int64)
        self._answers = np.zeros((len(self.keys), len(ANSWERS)), np.bool_)
        self._found: list[tuple[Any, ...]] = []
        self._places: set[tuple[int, int]] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add records, with `RECORD_COLUMNS`."""
        rows, numbers = self._hits(batch)
        if not len(rows):
            return
        records = batch.take(array(rows))
        answers = np.full(len(rows), ANSWERS.index(WHOLE))
        offsets = records["physical_offset"].to_numpy()
        for place, of_place in groups_of(records):
            of_queue = records["queue_offset"].fill_null(-1).to_numpy()[of_place]
            states = self._states.of(place, of_queue, offsets[of_place])
            whole = WAITING if kind_of_topic(place[0]) in SYSTEM_KINDS else WHOLE
            answers[of_place] = np.array([*map(ANSWERS.index, (*_TOLD, whole))])[states]
        self._answers[numbers, answers] = True
        few = np.flatnonzero(self._counts[numbers] < _MOST_EACH)
        np.add.at(self._counts, numbers, 1)
        columns = [records[name].take(array(few)).to_pylist() for name in KEY_COLUMNS[2:]]
        for number, answer, *values in zip(numbers[few].tolist(), answers[few].tolist(), *columns, strict=True):
            self._found.append((number, ANSWERS[answer], *values))
            self._places.add((number, values[3]))

    def _hits(self, batch: pa.RecordBatch) -> tuple[Numbers, Numbers]:
        """Rows with one of the keys, and which; a row for each key that it has."""
        listed, single = batch["keys"], batch["uniq_key"]
        in_lists = pc.index_in(pc.list_flatten(listed), self._values)
        found = [(pc.list_parent_indices(listed), in_lists), (array(np.arange(len(batch))), pc.index_in(single, self._values))]
        pairs = []
        for rows, numbers in found:
            known = np.flatnonzero(numbers.is_valid().to_numpy(zero_copy_only=False))
            pairs.append(np.stack([each.take(array(known)).to_numpy().astype(np.int64) for each in (rows, numbers)]))
        together = np.unique(np.concatenate(pairs, axis=1), axis=1)
        return together[0], together[1]

    def add_lost(self, topics: Sequence[str], entries: Mapping[Place, Entries], indexed: Indexed) -> None:
        """Add the keys whose hash the index has at a lost place. If no queue entry names the place, its topic is not known."""
        hashes = java_hashes(self._values)
        sizes = np.array([len(key.encode("utf-16-le", "surrogatepass")) // 2 for key in self.keys], np.int64)
        places, named = list(entries), _named(entries)
        at = np.searchsorted(named[0], indexed.offsets)
        at[at == len(named[0])] = 0
        is_named = np.zeros(len(at), np.bool_) if not len(named[0]) else named[0][at] == indexed.offsets
        owners = np.array([topics.index(topic) for topic, _ in places], np.int64)
        topic_of = np.full(len(at), -1)
        topic_of[is_named] = owners[named[1][at[is_named]]] if len(owners) else -1
        for number, topic in enumerate(topics):
            rows = np.flatnonzero((topic_of == -1) | (topic_of == number))
            for key, row in _pairs(key_hashes(topic, hashes, sizes), indexed.hashes, rows):
                queue: tuple[int | None, int | None] = None, None
                if is_named[row]:
                    queue = places[int(named[1][at[row]])][1], int(named[2][at[row]])
                self._add_lost(key, (topic, *queue), int(indexed.offsets[row]), int(indexed.times[row]))

    def _add_lost(self, key: int, place: tuple[str, int | None, int | None], offset: int, time: int) -> None:
        if (key, offset) in self._places:
            return  # the record is there, and has this key
        self._answers[key, ANSWERS.index(POSSIBLY_LOST)] = True
        self._counts[key] += 1
        if self._counts[key] <= _MOST_EACH:
            stored = None if time < 0 else scalar(time, pa.timestamp("us", "UTC")).as_py()
            self._found.append((key, POSSIBLY_LOST, *place, offset, stored))

    @property
    def counts(self) -> dict[str, int]:
        """How many keys have each answer that occurs."""
        worst = self._worst()
        return {answer: int(count) for number, answer in enumerate(ANSWERS) if (count := (worst == number).sum())}

    def _worst(self) -> Numbers:
        self._answers[:, -1] = True
        worst: Numbers = self._answers.argmax(axis=1)
        return worst

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each message that has a key, or may have had it; and one for each key that was not seen. In the order of the keys."""
        unseen = np.flatnonzero(self._worst() == ANSWERS.index(NOT_SEEN))
        found = self._found + [(number, NOT_SEEN, *(None,) * (len(KEY_COLUMNS) - 2)) for number in unseen.tolist()]
        for number, *values in sorted(found, key=lambda row: (row[0], ANSWERS.index(row[1]), row[5] or 0)):
            yield dict(zip(KEY_COLUMNS, (self.keys[number], *values), strict=True))


def _named(entries: Mapping[Place, Entries]) -> tuple[Numbers, Numbers, Numbers]:
    """Offsets in the log that queue entries name, ascending; the number of the queue, and the queue offset."""
    pieces = [(each.offsets, np.full(len(each.offsets), number), each.numbers) for number, each in enumerate(entries.values())]
    columns = [np.concatenate(column) for column in zip((np.empty(0, np.int64),) * 3, *pieces, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return columns[0][order], columns[1][order], columns[2][order]


def _pairs(wanted: Numbers, hashes: Numbers, rows: Numbers) -> Iterator[tuple[int, int]]:
    """The keys and the rows with the same hash."""
    order = np.argsort(wanted, kind="stable")
    known = wanted[order]
    low, high = (np.searchsorted(known, hashes[rows], side) for side in ("left", "right"))
    has: Mask = high > low
    for row, first, stop in zip(rows[has].tolist(), low[has].tolist(), high[has].tolist(), strict=True):
        yield from ((int(order[each]), row) for each in range(first, stop))
