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
    """A store to write; the file sizes have the names and defaults of the broker's options.

    Attributes:
        bytes: The bytes of the commitlog, up to its last record.
        body: The mean size of bodies.
        sizes: How the sizes of bodies are distributed.
        shapes: The properties of messages: "mixed" as of many clients, or "equal".
        compressed: The share of the ordinary bodies that are compressed.
        codecs: The codecs of compressed bodies.
        rare: The share of records that are not ordinary; None is 0.015, and 0 for equal shapes.
        huge: Whether rare records include messages of up to 256 KiB from one producer.
        seed: Another seed gives another store.
        topics: How many topics there are.
        shares: The shares of the ordinary records, by topic. The other topics share the rest.
        lives: The range of the log in which a topic exists, from 0 to 1.
        producers: How many producers there are.
        rate: Messages per second of store time.
        start: The first store time, in milliseconds since 1970.
        queues: Whether consume queues are written.
        index: Whether index files are written.
        mapped_file_size_commit_log: The size of a segment.
        mapped_file_size_consume_queue: The size of a file of a consume queue.
        mapper_file_size_batch_consume_queue: The size of a file of a consume queue of batches.
        max_hash_slot_num: How many slots an index file has.
        max_index_num: How many entries an index file has.
        killed: Whether the broker was killed: the file `abort` exists, an unused segment follows, the newest records are in no queue.
        expired: How many of the first segments are deleted.
        deleted: A topic without queues and configuration; its records remain.
        recreated: A topic deleted and created again half-way: its queue offsets start at 0 twice.

    Examples:
        >>> from native_reader.testing import StoreSpec
        >>> StoreSpec(topics=3, killed=True).bytes
        67108864
    """

    bytes: int = 64 * MIB
    body: int = 1024
    sizes: Sizes = "lognormal"
    shapes: Mix = "mixed"
    compressed: float = 0.01
    codecs: tuple[str, ...] = ("zlib", "lz4", "zstd")
    rare: float | None = None
    huge: bool = False
    seed: int = 1
    topics: int = 12
    shares: dict[str, float] = field(default_factory=dict)
    lives: dict[str, tuple[float, float]] = field(default_factory=dict)
    producers: int = 50
    rate: float = 100.0
    start: int = 1_767_600_000_000
    queues: bool = True
    index: bool = True
    mapped_file_size_commit_log: int = GIB
    mapped_file_size_consume_queue: int = 300_000 * 20
    mapper_file_size_batch_consume_queue: int = 300_000 * 46
    max_hash_slot_num: int = 5_000_000
    max_index_num: int = 20_000_000
    killed: bool = False
    expired: int = 0
    deleted: str | None = None
    recreated: str | None = None

    @property
    def rare_share(self) -> float:
        """The effective share of rare records."""
        return (0.0 if self.shapes == "equal" else 0.015) if self.rare is None else self.rare


@dataclass
class Summary:
    """The contents of a store: counts of what was written, before anything expired.

    Attributes:
        records: The number of records.
        rare_records: How many of them are not ordinary.
        min_offset: The first offset of the log.
        end_offset: The offset after the last record.
        first_stored: The first store time, in milliseconds since 1970.
        last_stored: The last store time.
        segments: The number of files of the log.
        queues: The number of consume queues.
        queue_entries: The number of entries of all queues.
        index_files: The number of index files.
        index_keys: The number of their entries.
        undispatched: How many of the newest records are in no queue.
        topics: The number of records of each topic.

    Examples:
        >>> from native_reader.testing import StoreSpec, write_store
        >>> summary = write_store("summed", StoreSpec(bytes=64 << 10, mapped_file_size_commit_log=32 << 10, index=False))
        >>> summary.records == sum(summary.topics.values())
        True
    """

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
