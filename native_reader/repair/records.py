"""How a repair reads a store, and what it needs to know of each record: where it is, and the queue entry that it should have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.record import Mask, Numbers, measure
from native_reader.layout.record import Records as RecordParts
from native_reader.lazy import Scan
from native_reader.options import LENIENT, MessageOptions
from native_reader.plan.ways import SCAN
from native_reader.scan.progress import Watch
from native_reader.start.answer import RESERVED
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles

CRCS = ("drop", "fix")


class Choices(NamedTuple):
    """What the user decides about records that are damaged in part, and about the new store."""

    crc: str = CRCS[0]
    keep_doubtful: bool = False
    single: bool = False
    """Whether the new store is one of a master without slaves, though the old one is not."""
    topics: tuple[str, ...] = ()
    """An extract has only these; a repair has all."""


class ReadSettings(NamedTuple):
    """How a store is read: in how many parts at once, who sees the progress, and how fast at most."""

    jobs: int = 1
    progress: Watch = False
    max_read_rate: int | str | None = None
    sizes: FileSizes | None = None
    """What the broker's configuration says; None if it is not given."""
    choices: Choices = Choices()
    reserved_hours: int = RESERVED
    """After them, a broker deletes a segment."""

    def options(self, columns: Sequence[str], **more: Any) -> MessageOptions:
        """To read all whole messages that the repair keeps, apart from those that it doubts. `more`: other options."""
        settings: dict[str, Any] = {**LENIENT, "verify_crc": self.choices.crc == "drop", "max_read_rate": self.max_read_rate}
        return MessageOptions(columns=columns, access=SCAN, **settings, **more)

    def scan(self, files: StoreFiles, columns: Sequence[str], **more: Any) -> Scan:
        """These columns of those messages. `more`: other options."""
        return Scan((files,), self.options(columns, **more))


class Records(NamedTuple):
    """Records in log order. `queue`: a number of `MarkedLog.queues`, or -1 for one that brokers put into no queue."""

    offset: Numbers
    size: Numbers
    time: Numbers
    queue: Numbers
    slot: Numbers
    """The queue offset."""
    code: Numbers
    by_time: Mask
    """Whether the code is a delivery time, which follows from the broker's settings."""

    def where(self, which: Mask | Numbers | slice) -> Records:
        """Only these records."""
        return Records._make(column[which] for column in self)

    def but(self, which: Mask) -> Records:
        """All but these records."""
        return self.where(~which) if which.any() else self


def record_at(files: StoreFiles, offset: int, size: int) -> tuple[bytes, RecordParts]:
    """The bytes of one whole record, and the places of its parts."""
    segment = files.segment_at(offset)
    assert segment is not None
    with storage_of(segment.uri).open(segment.uri) as file:
        (content,) = file.read_ranges([(offset - segment.base, size)])
    return content, measure(PaddedBuffer.of(content).u8, len(content), np.zeros(1, np.intp), offset)[0]
