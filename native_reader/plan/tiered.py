"""Plans the read of a tier: each of its queues as a log of its own, without those and the parts that cannot match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from native_reader.broker.tier_files import TierQueue
from native_reader.plan.claims import facts_of_topic
from native_reader.plan.ends import find_ends
from native_reader.plan.plan import Plan, spans_of, whole_reads
from native_reader.plan.planner import plan_reads
from native_reader.plan.planning import Planning
from native_reader.plan.tier_log import TierLog
from native_reader.plan.ways import AUTO, SCAN
from native_reader.predicate.outcomes import exactly, may_be_true, mentions
from native_reader.predicate.tree import EVERYTHING, And, Column, Compare, IsNull, Or, Predicate, all_of, leaves
from native_reader.storage.store import StoreFiles

_ENTRY = 20
_LAST = 2**63 - 1
_MOST_SPANS = 64
_PLACE = Column("physical_offset")
_OF_PLACES, _OF_IDS = ("physical_offset", "segment", "tiered", "store"), ("offset_msg_id", "msg_id")
"""Columns that differ between a record of the log and its copy in a tier. An id with a place is null in the tier."""


def of_copies(predicate: Predicate) -> Predicate:
    """A condition that a record of the log fulfils if its copy in a tier fulfils the other one."""
    return all_of(part for part in (predicate.parts if isinstance(predicate, And) else (predicate,)) if not _is_of_places(part))


def _is_of_places(part: Predicate) -> bool:
    return mentions(part, *_OF_PLACES) or any(isinstance(leaf, IsNull) and leaf.column.name in _OF_IDS for leaf in leaves(part))


def tier_log(store: StoreFiles, queue: TierQueue) -> TierLog:
    """What a read must know of a queue of that store's tier."""
    files = tuple((file.uri, file.base // _ENTRY, file.size // _ENTRY) for file in queue.entries if file.base % _ENTRY == 0)
    return TierLog(store.uri, *queue.name, files, tuple((file.base, file.uri) for file in queue.logs))


def may_want(log: TierLog, predicate: Predicate, planning: Planning) -> bool:
    """Whether rows of that queue may match. `access=scan` looks at all of them."""
    return planning.access == SCAN or bool(may_be_true(predicate, {**facts_of_topic(log.topic), **log.facts}))


def tier_may_match(topics: Sequence[str], store: str, predicate: Predicate) -> bool:
    """Whether messages of the tier of a store may match; True if its topics are not known."""
    known = ({**facts_of_topic(topic), "store": exactly(store), "tiered": exactly(True)} for topic in topics)
    return not topics or any(may_be_true(predicate, facts) for facts in known)


def plan_of_tier(queues: Iterable[tuple[TierQueue, TierLog]], predicate: Predicate, planning: Planning) -> list[Plan]:
    """The plans of these queues."""
    access = SCAN if planning.access == SCAN else AUTO
    plain = replace(planning, access=access, summary=None, compares=False, min_partitions=1)
    return [plan for queue, log in queues for plan in _of_queue(queue, log, predicate, plain)]


def _of_queue(queue: TierQueue, log: TierLog, predicate: Predicate, planning: Planning) -> Iterator[Plan]:
    files, places = queue.as_store(), EVERYTHING if planning.access == SCAN else _places(log, predicate)
    if files.segments and places is not None:
        reads = [replace(read, tier=log) for read in whole_reads((files,), find_ends((files,), planning))]
        yield plan_reads(reads, all_of((predicate, places)), planning)


def _places(log: TierLog, predicate: Predicate) -> Predicate | None:
    """Where in the log of a queue rows may be that fulfil the conditions on its offsets; None if nowhere."""
    if not mentions(predicate, "queue_offset"):
        return EVERYTHING
    spans = spans_of(predicate, {**facts_of_topic(log.topic), **log.facts}, 0, _LAST, "queue_offset")
    if not spans or len(spans) > _MOST_SPANS:
        return EVERYTHING if spans else None
    places: list[Predicate] = []
    for first, stop in spans:
        begin = log.start_of(first) if 0 < first < log.stop else None
        end = log.start_of(stop) if stop < log.stop else None  # in the middle of a batch, its first copy is before this place
        low = () if begin is None else (Compare(_PLACE, ">=", begin),)
        high = () if end is None else (Compare(_PLACE, "<", end),)
        places.append(And((*low, *high)))
    return Or(tuple(places))


def joined(plan: Plan, others: Iterable[Plan]) -> Plan:
    """One plan of a log and of the queues of its tier. How each store is read is that of the log."""
    plans = [plan, *others]

    def of_all(name: str) -> tuple[Any, ...]:
        return tuple(each for one in plans for each in getattr(one, name))

    whole: dict[str, Any] = {name: of_all(name) for name in ("splits", "ends", "skipped", "unwritten", "gaps", "stale", "lost")}
    return replace(plan, **whole)
