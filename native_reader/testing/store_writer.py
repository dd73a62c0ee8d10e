"""Writes a whole store quickly, as a 5.5.0 broker would leave it after that many bytes of mixed traffic.

The commitlog is written in blocks: ordinary records as arrays (blocks.py), and between them rare records one by one
(stories.py). Offsets follow the broker's rolling rule. Queue offsets, queue entries and index entries follow from them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from native_reader.testing import surroundings
from native_reader.testing.blocks import Block, Blocks
from native_reader.testing.bodies import Bodies
from native_reader.testing.dispatch import Dispatch, Dispatcher
from native_reader.testing.logs import END_BLANK
from native_reader.testing.producers import Producers, make_topics, number, weights_at
from native_reader.testing.queues import NumberedQueues, QueueName
from native_reader.testing.rare import Rare
from native_reader.testing.records import encode
from native_reader.testing.segments import SegmentFiles, place
from native_reader.testing.shapes import make_shapes
from native_reader.testing.spec import MIB, StoreSpec, Summary
from native_reader.testing.stories import Stories
from native_reader.testing.tokens import Pool
from native_reader.writing.index import IndexFiles

Progress = Callable[[int, int], None]
_BLOCK: Final = 8 * MIB
_OVERHEAD: Final = 320  # the approximate size of a record without its body


@dataclass
class _Merged:
    """A block's ordinary records and the rare ones between them; `sizes`, `offsets` and `stored` cover all, in order."""

    block: Block
    kept: int  # how many of the block's records are used
    normal_at: NDArray[np.int64]  # the index of each ordinary record among all
    rare: list[Rare]
    rare_at: NDArray[np.int64]
    rare_before: NDArray[np.int64]  # the ordinary record that follows each rare one
    sizes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    stored: NDArray[np.int64]
    borders: list[int]  # records that start a segment


class StoreWriter:
    """Writes one store; created by `write_store`."""

    def __init__(self, root: Path, spec: StoreSpec) -> None:
        self._root, self._spec = root, spec
        rng = self._rng = np.random.Generator(np.random.SFC64(spec.seed))
        segment = spec.mapped_file_size_commit_log
        largest_body = min(segment // 2, spec.bytes // 4) - 2048
        if largest_body < 2048:
            raise ValueError(f"segments of {segment} bytes and a log of {spec.bytes} bytes are too small; the minimum is 8 KiB and 16 KiB")
        topics, producers, pool = make_topics(spec.topics, rng), Producers(spec.producers, rng), Pool()
        names = [topic.name for topic in topics]
        for topic_name in (spec.deleted, spec.recreated, *spec.shares, *spec.lives):
            if topic_name is not None and topic_name not in names:
                raise ValueError(f"unknown topic {topic_name!r}; the topics are {', '.join(names)}")
        bodies = Bodies(
            pool, rng, mean=spec.body, sizes=spec.sizes, compressed=spec.compressed, codecs=spec.codecs, largest=largest_body
        )  # fmt: skip
        self._topics = topics
        self._blocks = Blocks(topics, make_shapes(spec.shapes, rng), producers, pool=pool, bodies=bodies, rng=rng)
        story_topics = [topic for topic in topics if topic.name not in (*spec.shares, *spec.lives)]
        self._stories = Stories(story_topics, producers, min(largest_body // 2, 256 * 1024), spec.seed, spec.huge)
        self._segments = SegmentFiles(root / "commitlog", segment)
        self._queues = NumberedQueues(root, spec.mapped_file_size_consume_queue, spec.mapper_file_size_batch_consume_queue)
        self._index = IndexFiles(root / "index", spec.max_hash_slot_num, spec.max_index_num)
        self._dispatcher = Dispatcher(self._queues if spec.queues else None, self._index if spec.index else None)
        for topic in topics:
            for queue_id in range(topic.queues):
                self._queues.number(QueueName(topic.name, queue_id))
        self._end, self._clock, self._rare_due = 0, float(spec.start), 0.0
        self.summary = Summary(first_stored=spec.start)

    def write(self, progress: Progress | None) -> Summary:
        """Write everything."""
        spec, summary = self._spec, self.summary
        recreate = spec.recreated
        per_block = max(32, min(_BLOCK, spec.bytes // 32) // (spec.body + _OVERHEAD))
        while self._write_block(per_block):
            if recreate is not None and self._end >= spec.bytes // 2:
                self._dispatcher.flush()
                self._queues.restart(recreate)
                recreate = None
            if progress:
                progress(self._end, spec.bytes)
        summary.undispatched = self._dispatcher.flush(max(3, summary.records // 100) if spec.killed else 0)
        summary.min_offset = oldest = self._segments.close(spec.expired, preallocate=spec.killed)
        summary.end_offset = self._end
        summary.segments = len(list((self._root / "commitlog").iterdir())) - spec.killed
        self._queues.close(oldest)
        self._index.close(oldest)
        summary.queues, summary.queue_entries = len(self._queues.queues) - 1, self._queues.entries
        summary.index_files, summary.index_keys = self._index.files, self._index.keys
        surroundings.write(
            self._root,
            spec,
            summary,
            topics=self._topics,
            queues=self._queues,
            delivered=self._stories.delivered,
            index_timestamp=self._index.full_timestamp,
            dispatched=(self._dispatcher.offset, self._dispatcher.stored),
        )
        if progress:
            progress(spec.bytes, spec.bytes)
        return summary

    def _write_block(self, count: int) -> bool:
        """Write one block; returns False when the log has reached its size."""
        spec = self._spec
        if spec.shares or spec.lives:
            self._blocks.weigh(weights_at(self._topics, spec.shares, spec.lives, self._end / spec.bytes))
        merged, complete = self._merge(self._blocks.draw(count))
        if len(merged.sizes):
            self._store(merged)
        return complete

    def _merge(self, block: Block) -> tuple[_Merged, bool]:
        """Insert rare records between a block's ordinary ones and place them all, up to the end of the log."""
        count = block.count
        self._rare_due += count * self._spec.rare_share
        units = int(max(0.0, self._rare_due))
        before = np.sort(self._rng.integers(0, count + 1, units))
        steps = self._rng.standard_exponential(count + units) * (1000 / self._spec.rate)
        times = (self._clock + np.cumsum(steps)).astype(np.int64)
        self._clock = float(times[-1])
        rare_units = before + np.arange(units)
        rare: list[Rare] = []
        unit_of: list[int] = []  # records of one unit are adjacent: a client's batch
        for unit, now in enumerate(times[rare_units].tolist()):
            records = self._stories.next(now)
            rare += records
            unit_of += [unit] * len(records)
        self._rare_due -= len(rare)
        rare_before = before[unit_of] if rare else np.empty(0, dtype=np.int64)
        rare_at = rare_before + np.arange(len(rare))
        normal_at = np.arange(count) + np.searchsorted(rare_before, np.arange(count), side="right")

        total = count + len(rare)
        sizes, stored = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
        sizes[normal_at], sizes[rare_at] = block.sizes, [len(encode(one.message)) for one in rare]
        stored[normal_at], stored[rare_at] = np.delete(times, rare_units), [one.message.store_timestamp for one in rare]
        first = np.arange(total)  # the first record of each record's unit
        if rare:
            first[rare_at] = rare_at[np.searchsorted(unit_of, unit_of)]
        offsets, borders = place(sizes, first, self._end, self._spec.mapped_file_size_commit_log)
        over = np.flatnonzero(offsets + sizes + END_BLANK > self._spec.bytes)
        cut = int(first[over[0]]) if len(over) else total
        kept, kept_rare = int(np.searchsorted(normal_at, cut)), int(np.searchsorted(rare_at, cut))
        merged = _Merged(
            block, kept, normal_at[:kept], rare[:kept_rare], rare_at[:kept_rare], rare_before[:kept_rare],
            sizes[:cut], offsets[:cut], stored[:cut], [border for border in borders if border < cut],
        )  # fmt: skip
        return merged, not len(over)

    def _store(self, merged: _Merged) -> None:
        """Number, encode, write and dispatch the records."""
        block, kept, rare, normal_at, rare_at = merged.block, merged.kept, merged.rare, merged.normal_at, merged.rare_at
        total = len(merged.sizes)
        queues, advance = np.zeros(total, dtype=np.uint16), np.ones(total, dtype=np.int64)
        queues[normal_at], queues[rare_at] = block.queue[:kept], [self._queues.number(one.queue) for one in rare]
        advance[rare_at] = [one.units for one in rare]
        advance[queues == 0] = 0
        queue_offsets = number(queues, self._queues.next_offset, advance)
        places = zip(rare, queue_offsets[rare_at].tolist(), merged.offsets[rare_at].tolist(), strict=True)
        data, ids = self._blocks.assemble(
            block,
            kept,
            queue_offsets=queue_offsets[normal_at],
            physical_offsets=merged.offsets[normal_at],
            stored=merged.stored[normal_at],
            rare=[one.store(queue_offset, offset) for one, queue_offset, offset in places],
            rare_before=merged.rare_before,
        )
        self._segments.write(data, merged.offsets, merged.sizes, merged.borders)
        self._end = int(merged.offsets[-1] + merged.sizes[-1])
        self._count(merged)
        if self._spec.queues or self._spec.index:
            self._dispatcher.add(self._dispatch(merged, queues, ids))
        for one in rare:
            if one.then:
                one.then(one)

    def _count(self, merged: _Merged) -> None:
        summary = self.summary
        summary.records += len(merged.sizes)
        summary.rare_records += len(merged.rare)
        summary.last_stored = int(merged.stored[-1])
        ordinary = np.bincount(merged.block.topic[: merged.kept], minlength=len(self._topics))
        summary.topics.update({topic.name: records for topic, records in zip(self._topics, ordinary.tolist(), strict=True) if records})
        summary.topics.update(str(one.message.topic) for one in merged.rare)

    def _dispatch(self, merged: _Merged, queues: NDArray[np.uint16], ids: NDArray[np.uint8]) -> Dispatch:
        """The data for queues and index."""
        rare, rare_at = merged.rare, merged.rare_at
        tags = np.empty(len(merged.sizes), dtype=np.int64)
        tags[merged.normal_at], tags[rare_at] = merged.block.tags_code[: merged.kept], [one.tags_code() for one in rare]
        records, hashes = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
        if self._spec.index:
            normal_records, normal_hashes = self._blocks.index_keys(merged.block, ids)
            own = [(at, code) for one, at in zip(rare, rare_at.tolist(), strict=True) for code in one.index_hashes()]
            records = np.append(merged.normal_at[normal_records], np.array([at for at, _ in own], dtype=np.int64))
            order = np.argsort(records, kind="stable")
            records = records[order]
            hashes = np.append(normal_hashes, np.array([code for _, code in own], dtype=np.int64))[order]
        special = [(at, one) for one, at in zip(rare, rare_at.tolist(), strict=True) if one.lmq or one.batch]
        return Dispatch(merged.offsets, merged.sizes, merged.stored, queues, tags, records, hashes, special)


def write_store(path: str | os.PathLike[str], spec: StoreSpec | None = None, progress: Progress | None = None) -> Summary:
    """Write a store as a broker 5.5.0 would leave it. The same specification gives the same bytes.

    Args:
        path: A directory, new or empty.
        spec: What to write; a store of 64 MiB by default.
        progress: Called with the bytes written and those to write, from time to time.

    Returns:
        What was written: counts, offsets and times.

    Raises:
        FileExistsError: The directory is not empty.
        ValueError: The specification cannot be met.

    Examples:
        >>> from native_reader.testing import StoreSpec, write_store
        >>> written = write_store("written", StoreSpec(bytes=64 << 10, mapped_file_size_commit_log=32 << 10, index=False))
        >>> written.segments
        2
        >>> rmqstore.open("written").messages().count_rows() == written.records
        True
    """
    root = Path(path)
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise FileExistsError(f"{root} is not empty; a store is written only into a new or empty directory")
    return StoreWriter(root, spec or StoreSpec()).write(progress)
