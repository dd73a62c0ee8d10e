"""The specification of a store to write, and a summary of what was written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from native_reader.testing.bodies import Sizes
from native_reader.testing.shapes import Mix

MIB: Final = 1 << 20
GIB: Final = 1 << 30


@dataclass(frozen=True)
class StoreSpec:
    """A store to write; the file sizes have the names and defaults of the broker's options."""

    bytes: int = 64 * MIB  # of commitlog, up to its last record
    body: int = 1024  # mean size
    sizes: Sizes = "lognormal"
    shapes: Mix = "mixed"
    compressed: float = 0.01  # share of the ordinary bodies
    codecs: tuple[str, ...] = ("zlib", "lz4", "zstd")
    rare: float | None = None  # share of records that are not ordinary; None: 0.015, and 0 for equal shapes
    huge: bool = False  # rare records include messages of up to 256 KiB from one producer
    seed: int = 1
    topics: int = 12
    shares: dict[str, float] = field(default_factory=dict)  # of the ordinary records, by topic; other topics share the rest
    lives: dict[str, tuple[float, float]] = field(default_factory=dict)  # the range of the log in which a topic exists, 0 to 1
    producers: int = 50
    rate: float = 100.0  # messages per second of store time
    start: int = 1_767_600_000_000  # 2026-01-05T08:00:00Z
    queues: bool = True
    index: bool = True
    mapped_file_size_commit_log: int = GIB
    mapped_file_size_consume_queue: int = 300_000 * 20
    mapper_file_size_batch_consume_queue: int = 300_000 * 46
    max_hash_slot_num: int = 5_000_000
    max_index_num: int = 20_000_000
    killed: bool = False  # abort exists, an unused segment after the last, the newest records not dispatched
    expired: int = 0  # the number of first segments that are deleted
    deleted: str | None = None  # a topic without queues and config; its records remain
    recreated: str | None = None  # a topic deleted and created again half-way: its queue offsets start at 0 twice

    @property
    def rare_share(self) -> float:
        """The effective share of rare records."""
        return (0.0 if self.shapes == "equal" else 0.015) if self.rare is None else self.rare


@dataclass
class Summary:
    """The contents of a store: counts of what was written, before anything expired."""

    records: int = 0
    rare_records: int = 0
    min_offset: int = 0
    end_offset: int = 0
    first_stored: int = 0
    last_stored: int = 0
    segments: int = 0
    queues: int = 0
    queue_entries: int = 0
    index_files: int = 0
    index_keys: int = 0
    undispatched: int = 0
    topics: Counter[str] = field(default_factory=Counter)
