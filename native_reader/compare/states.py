"""In which state a message is in its own store, and in the other one, as the account of each has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.account.account import Account
from native_reader.account.runs import Place
from native_reader.account.states import STATES
from native_reader.compare.lacking import NAMES
from native_reader.layout.record import Numbers

OWN, OTHER = "state", "other_state"
_BY_LOG, _BY_QUEUE = ("first_offset", "last_offset"), ("first_queue_offset", "last_queue_offset")
_Ranges = Mapping[int, tuple[Numbers, Numbers]]
"""By number of a state: where its ranges begin and end, in ascending order."""


class StatesOf:
    """Finds the state of each message in an account.

    `of_other`: of messages that another store has: by queue and queue offset, or by the bytes of the log that no message was found in.
    """

    def __init__(self, account: Account, *, of_other: bool) -> None:
        ends = _BY_QUEUE if of_other else _BY_LOG
        table = account.table.filter(pc.is_valid(account.table[ends[0]]))
        self._of_queues = {key: _ranges(rows, ends) for key, rows in _by_queue(table.filter(pc.is_valid(table["topic"])))}
        loose = account.table.filter(pc.and_(pc.is_null(account.table["topic"]), pc.is_valid(account.table[_BY_LOG[0]])))
        self._of_bytes = _ranges(loose, _BY_LOG) if of_other else {}
        self._number = "queue_offset" if of_other else "physical_offset"

    def at(self, rows: pa.RecordBatch) -> pa.Array:
        """The states of these messages; null where the account does not tell."""
        found = np.full(len(rows), -1, np.int64)
        shares_offsets = np.isin(rows["difference"].to_pylist(), ("missing", "changed"))
        _mark(found, rows["physical_offset"].to_numpy(), self._of_bytes, np.flatnonzero(shares_offsets))
        numbers, places = rows[self._number].to_numpy(), zip(rows["topic"].to_pylist(), rows["queue_id"].to_pylist(), strict=True)
        which: dict[Place, list[int]] = {}
        for row, place in enumerate(places):
            which.setdefault(place, []).append(row)
        for place, mine in which.items():
            _mark(found, numbers, self._of_queues.get(place, {}), np.array(mine))
        return pa.array([None if state < 0 else STATES[state] for state in found.tolist()], pa.string())


def with_states(batch: pa.RecordBatch, states: Sequence[tuple[StatesOf, StatesOf]]) -> pa.RecordBatch:
    """The rows of one store with the states of their messages. `states`: of each store, as its own and as the other one."""
    side = NAMES.index(batch["only_in"][0].as_py())
    for name, of in ((OWN, states[side][0]), (OTHER, states[1 - side][1])):
        batch = batch.set_column(batch.schema.get_field_index(name), name, of.at(batch))
    return batch


def _by_queue(table: pa.Table) -> Iterable[tuple[Place, pa.Table]]:
    """The account has the rows of a queue one after another."""
    topics, queues = table["topic"].to_pylist(), table["queue_id"].to_pylist()
    begin = 0
    for row in range(1, len(table) + 1):
        if row == len(table) or (topics[row], queues[row]) != (topics[begin], queues[begin]):
            yield (topics[begin], queues[begin]), table.slice(begin, row - begin)
            begin = row


def _ranges(table: pa.Table, ends: tuple[str, str]) -> _Ranges:
    first, last = (table[name].to_numpy() for name in ends)
    numbers = pc.index_in(table["state"], pa.array(STATES)).to_numpy()
    found = {}
    for state in np.unique(numbers).tolist():
        order = np.argsort(first[numbers == state], kind="stable")
        begins, stops = first[numbers == state][order], last[numbers == state][order]
        found[state] = begins, np.maximum.accumulate(stops)
    return found


def _mark(found: NDArray[np.int64], numbers: Numbers, ranges: _Ranges, rows: NDArray[np.intp]) -> None:
    """Give these rows the state whose ranges have their numbers; of several, the worst."""
    for state, (begins, stops) in ranges.items():
        place = np.searchsorted(begins, numbers[rows], side="right") - 1
        is_inside = (place >= 0) & (numbers[rows] <= stops[place])
        found[rows[is_inside]] = state
