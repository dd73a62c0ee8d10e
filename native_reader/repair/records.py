"""The whole records of a log, batch by batch: where they are, and the queue entry that each should have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import INNER_BATCH, PREPARED, ROLLBACK, TRANSACTION, Mask, Numbers, measure
from native_reader.layout.record import Records as RecordParts
from native_reader.lazy import Scan
from native_reader.options import MessageOptions
from native_reader.repair.refusals import BATCHES, refusal
from native_reader.scan.progress import Watch
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.verify.hashes import Texts

_LENIENT: dict[str, Any] = {"mode": "DROPMALFORMED", "fail_on_data_loss": False, "verify_crc": True, "access": "scan"}
_COLUMNS = (
    *("physical_offset", "record_size", "store_timestamp", "topic", "queue_id", "queue_offset", "sys_flag", "tags", "delay_level"),
    "inner_index",
)
_PLACEHOLDER = java_hash(PLACEHOLDER_TAG)


CRCS, HOLES = ("drop", "fix"), ("placeholders", "repeat")


class Choices(NamedTuple):
    """What the user decides about records that are damaged in part, and about the queue entries of lost messages."""

    crc: str = CRCS[0]
    keep_doubtful: bool = False
    holes: str = HOLES[0]
    topics: tuple[str, ...] = ()
    """An extract has only these; a repair has all."""


class Reading(NamedTuple):
    """How a store is read: in how many parts at once, who sees the progress, and how fast at most."""

    jobs: int = 1
    progress: Watch = False
    max_read_rate: int | str | None = None
    sizes: FileSizes | None = None
    """What the broker's configuration says; None if it is not given."""
    choices: Choices = Choices()

    def scan(self, files: StoreFiles, columns: Sequence[str], **more: Any) -> Scan:
        """These columns of all whole messages that the repair keeps, apart from those that it doubts. `more`: other options."""
        lenient = _LENIENT | {"verify_crc": self.choices.crc == "drop"}
        return Scan((files,), MessageOptions(columns=columns, max_read_rate=self.max_read_rate, **lenient, **more))


class Records(NamedTuple):
    """Records in log order. `queue`: a number of `RecordReader.queues`, or -1 for one that brokers put into no queue."""

    offset: Numbers
    size: Numbers
    time: Numbers
    queue: Numbers
    slot: Numbers
    """The queue offset."""
    code: Numbers
    by_time: Mask
    """Whether the code is a delivery time, which follows from the broker's settings."""

    def where(self, which: Mask | Numbers) -> Records:
        """Only these records."""
        return Records._make(column[which] for column in self)


def record_at(segments: Iterable[Segment], offset: int, size: int) -> tuple[bytes, RecordParts]:
    """The bytes of one whole record, and the places of its parts."""
    segment = next(each for each in segments if each.base <= offset < each.end)
    with storage_of(segment.uri).open(segment.uri) as file:
        (content,) = file.read_ranges([(offset - segment.base, size)])
    return content, measure(PaddedBuffer.of(content).u8, len(content), np.zeros(1, np.intp), offset)[0]


class RecordReader:
    """Reads the whole records of a store with right checksums. Topics and queue ids get numbers as they occur."""

    def __init__(self, files: StoreFiles, how: Reading) -> None:
        self.scan, self._how = how.scan(files, _COLUMNS), how
        self.run = self.scan.run(how.jobs, how.progress)
        self.queues: list[tuple[str, int]] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def number(self, topic: str, queue_id: int) -> int:
        """The number of a queue."""
        key = topic, queue_id
        if key not in self._numbers:
            self._numbers[key] = len(self.queues)
            self.queues.append(key)
        return self._numbers[key]

    def batches(self) -> Iterator[Records]:
        """All records, in log order."""
        for batch in self.run:
            if len(batch):
                yield self._records(batch)

    def _records(self, batch: pa.RecordBatch) -> Records:
        flags = _numbers(batch, "sys_flag")
        tags = batch.column("tags").fill_null("").dictionary_encode()
        hashes = Texts.of(tags.dictionary).hashes()[0].view(np.int32).astype(np.int64)[tags.indices.to_numpy(zero_copy_only=False)]
        is_batch = (flags & INNER_BATCH != 0) & (hashes != _PLACEHOLDER)
        if batch.column("inner_index").null_count < len(batch) or is_batch.any():
            raise refusal(BATCHES)
        times = _numbers(batch, "store_timestamp") // 1000
        levels = _numbers(batch, "delay_level")
        by_time = _mask(pc.equal(batch.column("topic"), DELAY_TOPIC)) & (levels > 0)
        delays = np.array((0, *(self._how.sizes or FileSizes()).delays))
        due = times + 1000 * delays[np.clip(levels, 0, len(delays) - 1)]
        state = flags & TRANSACTION
        queue = np.where((state == PREPARED) | (state == ROLLBACK), -1, self._queues_of(batch))
        offsets, sizes, slots = (_numbers(batch, name) for name in ("physical_offset", "record_size", "queue_offset"))
        return Records(offsets, sizes, times, queue, slots, np.where(by_time, due, hashes), by_time)

    def _queues_of(self, batch: pa.RecordBatch) -> Numbers:
        topics = batch.column("topic").dictionary_encode()
        names = topics.dictionary.to_pylist()
        pairs = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64) << 32 | _numbers(batch, "queue_id") & 0xFFFFFFFF
        unique, inverse = np.unique(pairs, return_inverse=True)
        numbers = [self.number(names[pair >> 32], (pair & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)) for pair in unique.tolist()]
        return np.array(numbers, np.int64)[inverse]


def _numbers(batch: pa.RecordBatch, name: str) -> Numbers:
    column = batch.column(name)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    numbers: Numbers = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _mask(column: pa.Array) -> Mask:
    mask: Mask = column.fill_null(False).to_numpy(zero_copy_only=False)
    return mask
