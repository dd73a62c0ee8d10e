"""Plans the first rows of a read: of the part of a log that is surely before its end, so that the end need not be found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from native_reader.log.sure import surely_until
from native_reader.log.tail import ALL, AVAILABLE
from native_reader.plan.keys import may_use_index
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.plan import Plan
from native_reader.plan.planner import plan_until
from native_reader.plan.planning import Planning
from native_reader.predicate.outcomes import mentions
from native_reader.predicate.tree import Column, Compare, Not, Or, Predicate, all_of
from native_reader.storage.store import StoreFiles


class Opening(NamedTuple):
    """A read in two steps: the plan of its first rows, and the predicate of all others, which follow them."""

    plan: Plan
    rest: Predicate


def plan_opening(stores: Sequence[StoreFiles], predicate: Predicate, planning: Planning) -> Opening | None:
    """The opening of a read; None if its first rows may be anywhere, or if how far the log goes is not known without its end."""
    if not stores or planning.compares or planning.tail not in (AVAILABLE, ALL) or may_use_index(predicate):
        return None
    first = stores[0]
    until = surely_until(first, planning.max_record_bytes, past_unreadable=planning.lenient)
    # In a log of one segment, the first bytes rarely have messages of the wanted time.
    if until is None or (until < first.segments[0].end and mentions(predicate, "store_timestamp")):
        return None
    plan = plan_until((first,), predicate, planning, {first.uri: CheckedEnd(until)})
    elsewhere = Not(Compare(Column("store"), "=", first.uri))
    return Opening(plan, all_of((predicate, Or((elsewhere, Compare(Column("physical_offset"), ">=", until))))))
