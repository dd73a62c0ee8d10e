"""The proof of a repair: the new store is consistent, and has exactly the messages that survived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from native_reader.layout.record import Numbers
from native_reader.lazy import TableScan
from native_reader.options import MessageOptions
from native_reader.repair.checksums import CRC_AT, CRC_SIZE
from native_reader.repair.places import Moved
from native_reader.repair.plan import RepairPlan
from native_reader.repair.records import Reading
from native_reader.repair.refusals import refusal
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles
from native_reader.tables import TABLES
from native_reader.verify.codes import NOTE

_COMPARED = ("physical_offset", "record_size")
_MOVED = (
    *("physical_offset", "record_size", "topic", "queue_id", "queue_offset", "flag", "sys_flag", "born_timestamp", "born_host"),
    *("store_timestamp", "store_host", "reconsume_times", "prepared_transaction_offset", "properties", "stored_body"),
)
_PIECE = 4 << 20
_NOT_OURS = (
    *("time-goes-back", "time-of-first", "queue-missing", "config-damaged", "offset-after-queue", "key-not-covered", "index-time"),
    "queue-file",
)
"""Warnings about what a repair copies as it is."""


def prove(plan: RepairPlan, new: StoreFiles, place: str, how: Reading) -> list[str]:
    """Raise an error unless the new store is right. Returns the warnings about what was copied as it is."""
    warnings = _check(new, place, how)
    if plan.moved is None:
        _compare_rows(plan, new, place, how)
        _compare_bytes(plan, new, place)
    else:
        _compare_moved(plan, plan.moved, new, place, how)
    return warnings


def _check(new: StoreFiles, place: str, how: Reading) -> list[str]:
    warnings = []
    for batch in TableScan(TABLES["findings"], (new,), MessageOptions(max_read_rate=how.max_read_rate)).to_batches(how.jobs, how.progress):
        for row in batch.to_pylist():
            if row["severity"] == NOTE:
                continue
            text = f"{row['code']}: {row['message']}"
            if row["code"] not in _NOT_OURS:
                raise refusal("proof", found=text, path=place)
            warnings.append(text)
    return warnings


def _compare_bytes(plan: RepairPlan, new: StoreFiles, place: str) -> None:
    """Compare the bytes of all records, so that every column of every row is equal."""
    copies = {each.base: each.uri for each in new.segments}
    one, other = bytearray(_PIECE), bytearray(_PIECE)
    arrays = np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)
    for base, source in plan.shape.sources.items():
        with storage_of(source.uri).open(source.uri) as left, storage_of(copies[base]).open(copies[base]) as right:
            for start, stop in _but_checksums(plan, base, _whole_ranges(plan, base, source.size)):
                for at in range(start, stop, _PIECE):
                    count = min(_PIECE, stop - at)
                    same = left.read_into(at, memoryview(one)[:count]) == right.read_into(at, memoryview(other)[:count]) == count
                    if not (same and np.array_equal(arrays[0][:count], arrays[1][:count])):
                        raise refusal("proof", found=f"its bytes differ near offset {base + at:,}", path=place)


def _whole_ranges(plan: RepairPlan, base: int, size: int) -> Iterator[tuple[int, int]]:
    """The positions in a segment outside of holes."""
    at = 0
    for hole in plan.shape.holes:
        if base <= hole.start < base + plan.shape.size:
            if hole.start - base > at:
                yield at, min(hole.start - base, size)
            at = size if hole.is_tail else hole.stop - base
    if at < size:
        yield at, size


def _but_checksums(plan: RepairPlan, base: int, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """These ranges without the checksums that are corrected."""
    corrected = np.array(sorted(plan.corrected), np.int64) - base + CRC_AT
    for start, stop in ranges:
        mine = corrected[(corrected >= start) & (corrected < stop)].tolist()
        yield from zip([start, *(at + CRC_SIZE for at in mine)], [*mine, stop], strict=True)


def _compare_rows(plan: RepairPlan, new: StoreFiles, place: str, how: Reading) -> None:
    """Compare where the rows of both stores are, without the records that fill holes."""
    holes = np.array([(hole.start, hole.stop) for hole in plan.shape.holes], np.int64).reshape(-1, 2)
    before, after = (_without_holes(how.scan(files, _COMPARED).to_batches(how.jobs, how.progress), holes) for files in (plan.files, new))
    _compare(plan, before, after, place)


def _compare_moved(plan: RepairPlan, moved: Moved, new: StoreFiles, place: str, how: Reading) -> None:
    """Compare all that the messages of an extract contain. Only their places differ."""
    before = how.scan(plan.files, _MOVED, topic=list(plan.choices.topics)).to_batches(how.jobs, how.progress)
    after = how.scan(new, _MOVED).to_batches(how.jobs, how.progress)
    old, copied = moved.records
    _compare(plan, _at(before, old), _at(after, copied), place)


def _at(batches: Iterator[pa.RecordBatch], places: Numbers) -> Iterator[pa.RecordBatch]:
    """The rows at these places, without the column about it."""
    for batch in batches:
        offsets = batch.column(0).to_numpy(zero_copy_only=False)
        is_there = places[np.minimum(np.searchsorted(places, offsets), len(places) - 1)] == offsets
        if len(kept := batch.filter(pa.array(is_there))):
            yield kept.select(_MOVED[1:])


def _compare(plan: RepairPlan, before: Iterator[pa.RecordBatch], after: Iterator[pa.RecordBatch], place: str) -> None:
    count = 0
    for one, other in _aligned(before, after):
        if one is None or other is None or not one.equals(other):
            raise refusal("proof", found=f"its messages differ after the first {count:,}", path=place)
        count += len(one)
    if count != plan.messages:
        raise refusal("proof", found=f"it has {count:,} messages, and {plan.messages:,} survived", path=place)


def _without_holes(batches: Iterator[pa.RecordBatch], holes: np.ndarray[Any, Any]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        offsets = batch.column("physical_offset").to_numpy(zero_copy_only=False)
        at = np.searchsorted(holes[:, 0], offsets, "right") - 1
        inside = (at >= 0) & (offsets < holes[at, 1]) if len(holes) else np.zeros(len(offsets), np.bool_)
        kept = batch.filter(pa.array(~inside)) if inside.any() else batch
        if len(kept):
            yield kept


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
