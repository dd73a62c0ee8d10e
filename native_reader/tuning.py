"""Limits and thresholds that trade time, memory and delay. They change what is read and when, never which rows come out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Tuning:
    """Sizes are in bytes and times in seconds, unless noted."""

    # Records to columns
    decompressed_at_once: int = 16 << 20
    """Limit on the decompressed bodies of one batch, so that many small bombs stay small. The last body may exceed it."""
    unpacked_at_once: int = 64 << 20
    """Limit on the memory of one piece of unpacked inner batches."""

    # Reading
    part_of_a_job: int = 15 << 20
    """With several jobs, each reads this much of the log at once: not quite four chunks. Larger parts need more memory."""
    bytes_ahead: int = 32 << 20
    """The batches of one part that nobody took yet. Memory is bounded by jobs, not by splits."""
    large_extent: int = 256 << 10
    """A larger extent is walked separately."""
    many_damages: int = 64
    """From this many ranges on, they are merged into the batch in one step, which copies the messages."""
    verified_at_once: int = 512 << 20
    """The check of a store compares at most this many bytes of log at once with queues and index."""
    verified_at_least: int = 128 << 20
    """It compares so many at once if the store has few queues: more needs more memory."""
    verified_for_a_queue: int = 256 << 10
    """It compares so many at once for each queue, within these limits: each range looks into each queue."""
    queue_read_whole: int = 160 << 10
    """The check reads a queue of this size whole for each range, and so finds all of its entries, in whatever order they are."""

    grouped_at_once: int = 512 << 20
    """Limit on the memory of rows that are grouped by a key, per task. With more, the log is read again for each share of the keys."""
    grouped_of_one_key: int = 1 << 30
    """Limit on the memory of the rows of one key, which are held together. More is an error."""

    # Exporting
    export_buffer: int = 64 << 20
    """Rows that one job of an export holds in memory. Also the largest row group of a Parquet file."""
    export_open_files: int = 64
    """Files that one job of an export has open for writing."""
    export_partitions: int = 10_000
    """Partitions in one task of an export. More are an error: they would be a file for every few rows."""

    # Whether queues and indexes are used
    most_share: float = 0.85
    """Queues are used if they cost at most this share of a scan: an estimate of 0.90 was measured as 1.05."""
    queue_costs: float = 1.0
    """A factor for what queues cost besides the bytes of the log that are left to read. 0 uses them also where a scan is faster."""
    small_part: int = 64 << 10
    """A part of a plan up to this size is read faster than queues are searched."""
    small_rest: int = 64 << 10
    """What an index leaves to read, up to this size, is almost nothing."""
    calls_per_lookup: int = 5
    """Reads per lookup in an index: one slot, then the entries of its chain in a full file."""
    few_hashes: int = 1000
    """So many hashes of topic and key cost almost nothing."""
    hash_costs: int = 32 << 10
    """The bytes in which a key can be searched while one more hash is made: 6 µs. Keys without a topic have one for each topic."""
    most_hits: int = 20_000
    """With more records than this a plain read is as fast, and planning must not read them all."""
    least_index_steps: int = 1000
    """An index file may always be followed for this many entries, however little of the log it covers."""
    queue_read_at_once: int = 16 << 10
    """A range of a queue of this size is read at once, not searched."""
    small_range: int = 8 << 20
    """A smaller range of a log, as in most stream batches, is scanned faster than it is looked up."""
    sampled_segment: int = 4 << 20
    """A smaller segment is read as fast as its store times are sampled."""
    time_samples: int = 64
    """Samples of store time per segment."""
    time_heads: int = 128
    """About so many segments show whether a clock stepped back; more are looked at only where a wanted time begins or ends."""

    # Ends and boundaries of logs
    boundary_look: int = 256 << 10
    """Bytes read at once when a boundary is searched from the end of a segment."""
    certain_look: int = 64 << 10
    """The first range in which a certain start is searched."""
    quiet: float = 3.0
    """If the newest record of a live log has no consume queue entry, it counts after this time without a newer one.
    Torn records were seen for 15 ms at most."""
    list_every: float = 1.0
    """How often stores and their segments are listed."""
    search_every: float = 10.0
    """How often the end of a log is determined anew."""
    rest: float = 300
    """A costly look is not repeated for this many times its own duration."""
    look_every: float = 0.2
    """How often a stream looks for new records. Bytes written at the old end of a log are seen at once."""


TUNING = Tuning()


@contextmanager
def tuned(**values: float) -> Iterator[None]:
    """Use other values inside a `with` block: for tests and benchmarks, in this process only."""
    before = {name: getattr(TUNING, name) for name in values}
    try:
        for name, value in values.items():
            setattr(TUNING, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(TUNING, name, value)
