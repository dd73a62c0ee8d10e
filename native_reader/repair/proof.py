"""The proof of a repair or an extract: the new store is consistent, and has exactly the messages that survived."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa

from native_reader.account.account import Account
from native_reader.errors import StoreDamaged
from native_reader.layout.arrays import is_among
from native_reader.layout.record import Numbers
from native_reader.records.walk import CHUNK, ReadWalk
from native_reader.repair.checking import COPIED, Checked, Warned, checked
from native_reader.repair.comparing import Comparing
from native_reader.repair.log_shape import Moved
from native_reader.repair.plan import RepairPlan
from native_reader.repair.records import Choices, ReadSettings
from native_reader.repair.refusals import refusal
from native_reader.sentences import say
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window

_OF_DOUBTS = ("entry-tag", "record-properties")


def prove(plan: RepairPlan, new: StoreFiles, place: str, settings: ReadSettings, comparing: Comparing) -> tuple[list[Warned], Account]:
    """Raise an error unless the new store is right. Returns the warnings about what was copied as it is, and the account.

    All rows outside of holes have equal bytes at equal offsets in both stores. The records in the holes end where the next one
    begins, so a reader of the new store finds exactly both.
    """
    check = checked(new, settings._replace(choices=Choices()))
    warnings = _check(plan, check, place)
    if (differs := comparing.first_difference()) is not None:
        raise refusal("proof", found=say("proof bytes", offset=differs), path=place)
    if plan.moved is not None:
        compare_moved(plan, plan.moved, new, place, settings)
    _check_holes(plan, new, place)
    _check_end(plan, new, place, settings)
    return warnings, check.account


def _check(plan: RepairPlan, check: Checked, place: str) -> list[Warned]:
    warnings, known = [], {each.text for each in plan.copied}
    kept = sum(doubt.is_kept for doubt in plan.doubts.values())  # their entries stay
    left = dict.fromkeys(_OF_DOUBTS, kept)
    for row in check.findings:
        if row["code"] in left:
            left[row["code"]] -= row["count"]
        if row["code"] not in COPIED and Warned.of(row).text not in known and left.get(row["code"], -1) < 0:
            found = say("proof finding", code=row["code"], found=dict(Warned.of(row).said.values)["found"])
            raise refusal("proof", found=found, path=place)
        warnings.append(Warned.of(row))
    return warnings


def _check_holes(plan: RepairPlan, new: StoreFiles, place: str) -> None:
    """Read what fills the holes: records without a gap, in the places of the plan, up to where the next whole record begins."""
    segments = {each.base: each for each in new.segments}
    for hole in plan.shape.holes:
        stop = max(hole.start, plan.end) if hole.is_tail else hole.stop
        if hole.start < min(stop, hole.stop):
            segment = segments[hole.start // plan.shape.size * plan.shape.size]
            found = _filled(segment, hole.start, min(stop, hole.stop))
            first, last = np.searchsorted(plan.filling.placed["offset"], (hole.start, hole.stop)).tolist()
            if found is None or not np.isin(plan.filling.placed["offset"][first:last], found).all():
                raise refusal("proof", found=say("proof records", offset=hole.start), path=place)


def _filled(segment: Segment, start: int, stop: int) -> Numbers | None:
    """The offsets of the records in a range that they, and the blank of the segment, fill; None if they do not."""
    found = [np.empty(0, np.int64)]
    with Window(segment, CHUNK) as window:
        walk = ReadWalk(window, start - segment.base, stop - segment.base, segment.size, max_record_bytes=segment.size, hands_over=False)
        with suppress(StoreDamaged):
            for records, _ in walk:
                if len(records):
                    found.append(records.heads["physical_offset"].astype(np.int64))
    return np.concatenate(found) if walk.reached == stop - segment.base else None


def _check_end(plan: RepairPlan, new: StoreFiles, place: str, settings: ReadSettings) -> None:
    """The new log must end where the plan ends it, or after the blank there. Where nothing is filled, it ends as the old one."""
    (_, before), (_, after) = (*plan.survey.reader.scan.plan().ends, *settings.scan(new, ("physical_offset",)).plan().ends)
    is_ours = plan.moved is not None or any(hole.is_tail for hole in plan.shape.holes)
    expected = plan.end if is_ours else before
    if after not in (expected, -(-plan.end // plan.shape.size) * plan.shape.size):
        raise refusal("proof", found=say("proof end", end=after, expected=expected), path=place)


_COMPARED = (
    *("physical_offset", "record_size", "topic", "queue_id", "queue_offset", "flag", "sys_flag", "born_timestamp", "born_host"),
    *("store_timestamp", "store_host", "reconsume_times", "prepared_transaction_offset", "properties", "stored_body"),
)


def compare_moved(plan: RepairPlan, moved: Moved, new: StoreFiles, place: str, settings: ReadSettings) -> None:
    """Raise an error unless all records are in the new store, in their order, and nothing else but placeholders is."""
    scan = settings.scan(plan.files, _COMPARED, topic=list(plan.choices.topics))
    before = scan.to_batches(settings.jobs, settings.doing("comparing").progress)
    after = settings.scan(new, _COMPARED).to_batches(settings.jobs)
    old, copied = moved.records
    count = 0
    for one, other in _aligned(_at(before, old), _at(after, copied)):
        if one is None or other is None or not one.equals(other):
            raise refusal("proof", found=say("proof messages", count=count), path=place)
        count += len(one)
    if count != plan.messages:
        raise refusal("proof", found=say("proof count", count=count, survived=plan.messages), path=place)


def _at(batches: Iterator[pa.RecordBatch], places: Numbers) -> Iterator[pa.RecordBatch]:
    """The rows at these places, without the column about it."""
    for batch in batches:
        offsets = batch.column(0).to_numpy(zero_copy_only=False)
        if len(kept := batch.filter(pa.array(is_among(offsets, places)))):
            yield kept.select(_COMPARED[1:])


def _aligned(
    one: Iterator[pa.RecordBatch], other: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch | None, pa.RecordBatch | None]]:
    """Both as batches of equal lengths; None for the one that ends first."""
    left, right = next(one, None), next(other, None)
    while left is not None and right is not None:
        count = min(len(left), len(right))
        yield left.slice(0, count), right.slice(0, count)
        left = left.slice(count) if count < len(left) else next(one, None)
        right = right.slice(count) if count < len(right) else next(other, None)
    if left is not None or right is not None:
        yield left, right
