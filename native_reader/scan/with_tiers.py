"""Adds the tiers of stores to a plan of their logs. A message in both is a row of the log, so the log is asked first what it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from native_reader.arrow import numpy_of
from native_reader.broker.tier_files import queues_of_tier
from native_reader.columns.projection import FAILFAST, PERMISSIVE, Projection
from native_reader.layout.record import Numbers
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.plan import Plan, whole_reads
from native_reader.plan.planner import plan_reads
from native_reader.plan.planning import Planning
from native_reader.plan.tiered import joined, may_want, of_copies, plan_of_tier, tier_log
from native_reader.predicate.tree import Column, In, Not, Predicate, all_of
from native_reader.scan.run import Run
from native_reader.storage.store import StoreFiles

_KEY = ("topic", "queue_id", "queue_offset", "corrupt_reason")
_IS_QUEUED = Not(In(Column("kind"), ("prepared", "rollback")))
"""Such records have the offset of no queue: with 0 in it, one would hide the first message of its queue in the tier."""
_MOST_TOPICS = 1000
Ranges = Sequence[tuple[int, int]]


def with_tiers(
    plan: Plan, stores: Sequence[StoreFiles], ends: Mapping[str, CheckedEnd], planning: Planning, projection: Projection
) -> Plan:
    """The plan of a read of these stores, and of what only their tiers have."""
    predicate, plans = plan.wanted.rows, list[Plan]()
    keys = replace(
        projection,
        columns=_KEY,
        mode=PERMISSIVE,  # its rows of damage are left out here, and the read of the log itself warns of them
        column_name_of_corrupt_record=None,
        body_views=False,
        fail_on_data_loss=False,
        ignore_missing_files=True,
        advanced=None,
    )
    with_faults = projection.mode in (FAILFAST, PERMISSIVE)
    for store in stores:
        found = [(queue, tier_log(store, queue)) for queue in queues_of_tier(store, planning.tiered_store_file_path)]
        wanted = [(queue, log) for queue, log in found if may_want(log, predicate, planning)]
        if wanted:
            topics = tuple(sorted({log.topic for _, log in wanted}))
            read = whole_reads((store,), {store.uri: ends[store.uri]})
            run = Run(plan_reads(read, _of_keys(predicate, topics), _lenient(planning)), keys)
            in_log = _in_log(run, with_faults=with_faults)
            own = [(queue, replace(log, in_log=tuple(in_log.get(queue.name, ())))) for queue, log in wanted]
            plans += plan_of_tier(own, predicate, planning)
    return joined(plan, plans)


def _of_keys(predicate: Predicate, topics: tuple[str, ...]) -> Predicate:
    """The condition on records of the log that may have a copy in the tier, among what is wanted."""
    of_topics = (In(Column("topic"), topics),) if len(topics) <= _MOST_TOPICS else ()
    return all_of((of_copies(predicate), _IS_QUEUED, *of_topics))


def _lenient(planning: Planning) -> Planning:
    """What is damaged in the log, the tier may still have."""
    return replace(planning, summary=None, returned=frozenset(_KEY), lenient=True, compares=False, fail_on_data_loss=False)


def _in_log(run: Run, *, with_faults: bool) -> dict[tuple[str, int], Ranges]:
    """By queue, the ranges of queue offsets that the log has."""
    found: dict[tuple[str, int], list[Ranges]] = {}
    for batch in run:
        for key, numbers in _by_queue(batch, with_faults=with_faults):
            found.setdefault(key, []).append(_ranges_of(numbers))
    return {key: _merged(pieces) for key, pieces in found.items()}


def _by_queue(batch: pa.RecordBatch, *, with_faults: bool) -> Iterable[tuple[tuple[str, int], Numbers]]:
    """The queue offsets of each queue. `with_faults`: also of messages with a wrong checksum, which are rows there, or an error."""
    rows = batch.filter(batch["topic"].is_valid() if with_faults else batch["corrupt_reason"].is_null())
    topics = rows["topic"].dictionary_encode()
    codes, queues = numpy_of(topics.indices).astype(np.int64), numpy_of(rows["queue_id"]).astype(np.int64)
    numbers = numpy_of(rows["queue_offset"])
    order = np.lexsort((queues, codes))
    if not len(rows):
        return
    changes = np.flatnonzero((np.diff(codes[order], prepend=-1) != 0) | (np.diff(queues[order], prepend=-1) != 0)).tolist()
    for begin, stop in zip(changes, [*changes[1:], len(order)], strict=True):
        which = order[begin:stop]
        yield (topics.dictionary[int(codes[which[0]])].as_py(), int(queues[which[0]])), numbers[which]


def _ranges_of(numbers: Numbers) -> Ranges:
    each = np.unique(numbers)
    begins = np.flatnonzero(np.diff(each, prepend=each[0] - 2) != 1)
    return list(zip(each[begins].tolist(), (each[np.append(begins[1:], len(each)) - 1] + 1).tolist(), strict=True))


def _merged(pieces: Iterable[Ranges]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(each for ranges in pieces for each in ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged
