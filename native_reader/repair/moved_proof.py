"""The proof of an extract: its messages contain what they contained before. Only their places differ."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from native_reader.layout.record import Numbers
from native_reader.repair.places import Moved
from native_reader.repair.plan import RepairPlan
from native_reader.repair.records import Reading
from native_reader.repair.refusals import refusal
from native_reader.storage.store import StoreFiles

_COMPARED = (
    *("physical_offset", "record_size", "topic", "queue_id", "queue_offset", "flag", "sys_flag", "born_timestamp", "born_host"),
    *("store_timestamp", "store_host", "reconsume_times", "prepared_transaction_offset", "properties", "stored_body"),
)


def compare_moved(plan: RepairPlan, moved: Moved, new: StoreFiles, place: str, how: Reading) -> None:
    """Raise an error unless all records are in the new store, in their order, and nothing else but placeholders is."""
    before = how.scan(plan.files, _COMPARED, topic=list(plan.choices.topics)).to_batches(how.jobs, how.progress)
    after = how.scan(new, _COMPARED).to_batches(how.jobs, how.progress)
    old, copied = moved.records
    count = 0
    for one, other in _aligned(_at(before, old), _at(after, copied)):
        if one is None or other is None or not one.equals(other):
            raise refusal("proof", found=f"its messages differ after the first {count:,}", path=place)
        count += len(one)
    if count != plan.messages:
        raise refusal("proof", found=f"it has {count:,} messages, and {plan.messages:,} survived", path=place)


def _at(batches: Iterator[pa.RecordBatch], places: Numbers) -> Iterator[pa.RecordBatch]:
    """The rows at these places, without the column about it."""
    for batch in batches:
        offsets = batch.column(0).to_numpy(zero_copy_only=False)
        is_there = places[np.minimum(np.searchsorted(places, offsets), len(places) - 1)] == offsets
        if len(kept := batch.filter(pa.array(is_there))):
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
