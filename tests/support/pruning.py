"""Reads of a store by each way of access, which bytes they read, and random conditions that often match some rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from hypothesis import strategies as st

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.lazy import Scan
from native_reader.options import MessageOptions
from native_reader.predicate.tree import And, Column, Compare, In, IsNull, Like, Not, Or, Predicate, all_of
from native_reader.scan.run import Run
from native_reader.testing.memory import MemoryFile
from support.queued_stores import TAGS, TOPICS
from support.stores import Files, in_memory

_WHICH = Projection(("physical_offset", "inner_index", "topic", "tags"))
_START = 1_700_000_000_000_000
_READ = MemoryFile._read
_IDENTITY = 64
"""A file's identity in memory is that of so many of its first bytes."""


def identities(batches: Iterable[pa.RecordBatch]) -> Counter[tuple[int, int | None]]:
    """Which rows these are: of each, its place in the log, and in its record."""
    found: Counter[tuple[int, int | None]] = Counter()
    for batch in batches:
        found.update(zip(*(batch[name].to_pylist() for name in ("physical_offset", "inner_index")), strict=True))
    return found


class AccessRead:
    """One read: its plan, its rows, and the ways in which they were read."""

    def __init__(
        self,
        files: Files,
        predicate: Predicate,
        access: str,
        most: int = 1 << 20,
        *,
        fail_on_data_loss: bool = True,
        summary: Path | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        """`summary`: a folder, where a summary of the store is written if there is none, and used. `columns`: those that are returned."""
        memory = in_memory(files)  # gone without a reference
        if summary is not None:
            nr.open(memory.url).summarize(summary)
        how: dict[str, Any] = {"max_partition_bytes": most, "time_skew_tolerance": 0, "summary": summary, "columns": columns}
        options = MessageOptions(access=access, fail_on_data_loss=fail_on_data_loss, **how)
        self.plan = Scan(nr.open(memory.url).stores, options, predicate).plan()
        self.run = Run(self.plan, _WHICH if columns is None else options.projection())
        self.rows = identities(self.run)
        self.ways = set(self._ways())

    def _ways(self) -> Iterator[str]:
        """Access of each split ("after all" if it was scanned because its queues did not help), and the reasons for scans and skips."""
        scanned = Counter(line.rpartition(": ")[0] for line in self.run.report.scanned)
        for split in self.plan.splits:
            after_all = split.access != "scan" and split.segment.uri in scanned
            yield "after all" if after_all else split.access
        yield from (line.rpartition(": ")[2] for line in self.run.report.scanned)
        yield from (f"not by {why}" for _, why in self.plan.skipped)


def bytes_read(files: Files, names: Collection[str], predicate: Predicate, access: str) -> set[tuple[str, int]]:
    """The bytes of these files that a read asks for. It cannot be changed by the others."""
    asked = {(name, byte) for name in names for byte in range(_IDENTITY)}

    def read(file: MemoryFile, offset: int, view: memoryview) -> int:
        got = _READ(file, offset, view)
        if (name := file.uri.partition("://")[2].partition("/")[2]) in names:
            asked.update((name, byte) for byte in range(offset, offset + got))
        return got

    with mock.patch.object(MemoryFile, "_read", read):
        AccessRead(files, predicate, access)
    assert len(asked) > _IDENTITY * len(names), "no read was seen"
    return asked


@st.composite
def selective(draw: st.DrawFn) -> Predicate:
    """Typical predicates, of which many select some rows, but not all."""

    def leaf() -> st.SearchStrategy[Predicate]:
        topic, tags = Column("topic"), Column("tags")
        return st.one_of(
            st.sampled_from([*TOPICS, "batched", "SCHEDULE_TOPIC_XXXX", "%LMQ%a", "gone"]).map(lambda name: Compare(topic, "=", name)),
            st.sampled_from([*TOPICS, "batched", "SCHEDULE_TOPIC_XXXX"]).map(lambda name: Compare(topic, "=", name)),
            st.lists(st.sampled_from([*TOPICS, "batched"]), min_size=1, max_size=2).map(lambda names: In(topic, tuple(names))),
            st.sampled_from([tag for tag in TAGS if tag]).map(lambda tag: Compare(tags, "=", tag)),
            st.sampled_from([tag for tag in TAGS if tag]).map(lambda tag: Compare(tags, "!=", tag)),
            st.just(IsNull(tags)),
            st.integers(0, 2).map(lambda queue: Compare(Column("queue_id"), "=", queue)),
            st.tuples(st.sampled_from(["<", ">=", "=", "!="]), st.integers(0, 6)).map(lambda at: Compare(Column("queue_offset"), *at)),
            st.tuples(st.sampled_from(["<", ">="]), st.integers(0, 40)).map(
                lambda at: Compare(Column("store_timestamp"), at[0], (1_700_000_000_000 + at[1] * 1000) * 1000)
            ),
            st.tuples(st.integers(0, 40), st.integers(1, 12)).map(
                lambda at: between("store_timestamp", *(each * 10**6 for each in at), _START)
            ),
            st.tuples(st.integers(0, 9000), st.integers(1, 2000)).map(lambda at: between("physical_offset", *at)),
            st.tuples(st.sampled_from(["<", ">="]), st.integers(0, 9000)).map(lambda at: Compare(Column("physical_offset"), *at)),
            st.sampled_from(["prepared", "rollback", "committed", "batch", "delay", "normal"]).map(
                lambda kind: Compare(Column("kind"), "=", kind)
            ),
            st.integers(100, 300).map(lambda size: Compare(Column("record_size"), ">", size)),
            st.just(Like(topic, "order%")),
            st.just(Compare(Column("properties", "KEYS"), "=", "k3 all")),
        )

    if not draw(st.integers(0, 4)):
        return And((between("store_timestamp", draw(st.integers(0, 40)) * 10**6, draw(st.integers(1, 9)) * 10**6, _START), draw(leaf())))
    parts = draw(st.lists(leaf(), min_size=1, max_size=3))
    shape = draw(st.sampled_from(["and", "and", "and", "or", "not", "and not", "or and"]))
    if shape == "or":
        return Or(tuple(parts))
    if shape == "not":
        return Not(all_of(parts))
    if shape == "and not":
        return And((draw(leaf()), Not(Or(tuple(parts)))))
    if shape == "or and":
        return Or((all_of(parts), And((draw(leaf()), draw(leaf())))))
    return all_of(parts)


def between(name: str, first: int, length: int, base: int = 0) -> Predicate:
    return And((Compare(Column(name), ">=", base + first), Compare(Column(name), "<", base + first + length)))
