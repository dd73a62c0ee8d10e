"""How a repair reads a store, and what it needs to know of each record: where it is, and the queue entry that it should have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.record import HEAD, Mask, Numbers, measure
from native_reader.layout.record import Records as RecordParts
from native_reader.lazy import Scan
from native_reader.options import LENIENT, MessageOptions
from native_reader.plan.ways import SCAN
from native_reader.scan.progress import Bar, Watch
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles
from native_reader.verify.removed import RESERVED

CRCS = ("drop", "fix")
TIERS = KEEP_TIER, TIER_TO_LOG, LEAVE_TIER = "keep", "log", "leave"
"""What becomes of tiered storage: its files go along, its messages go into the new log, or it stays where it is."""


class Choices(NamedTuple):
    """What the user decides about records that are damaged in part, and about the new store."""

    crc: str = CRCS[0]
    keep_doubtful: bool = False
    single: bool = False
    """Whether the new store is one of a master without slaves, though the old one is not."""
    link: bool = False
    """Whether files that are as before, and that no broker writes to, are links to the old ones."""
    topics: tuple[str, ...] = ()
    """An extract has only these; a repair has all."""
    plain: bool = False
    """Whether the new store is a plain one, though the old one is that of a DLedger peer. An extract always is."""
    tier: str = ""
    """One of TIERS; empty for what loses nothing."""


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
    others: tuple[StoreFiles, ...] = ()
    """Stores that may have what this one lacks."""

    def options(self, columns: Sequence[str], **more: Any) -> MessageOptions:
        """To read all whole messages that the repair keeps, apart from those that it doubts. `more`: other options."""
        settings: dict[str, Any] = {**LENIENT, "verify_crc": self.choices.crc == "drop", "max_read_rate": self.max_read_rate}
        return MessageOptions(columns=columns, access=SCAN, **settings, **more)

    def doing(self, label: str) -> ReadSettings:
        """The same, and a bar says what is read from now on."""
        return self._replace(progress=self.progress.label(label)) if isinstance(self.progress, Bar) else self

    def scan(self, files: StoreFiles, columns: Sequence[str], **more: Any) -> Scan:
        """These columns of those messages. `more`: other options."""
        return Scan((files,), self.options(columns, **more))


class Records(NamedTuple):
    """Records in log order. `queue`: a number of `MarkedLog.queues`; if brokers put it into no queue, that number after `held_back`."""

    offset: Numbers
    size: Numbers
    time: Numbers
    queue: Numbers
    slot: Numbers
    """The queue offset."""
    code: Numbers
    by_time: Mask
    """Whether the code is a delivery time, which follows from the broker's settings."""
    doubt: NDArray[np.int8]
    """What contradicts it: a number of `doubts.WHY`."""
    messages: Numbers
    """How many queue offsets it takes: more than one only in batch queues."""
    is_light: Mask
    """Whether it stands for the place of a record in a light queue, which the record is in besides its own."""

    def where(self, which: Mask | Numbers | slice) -> Records:
        """Only these records."""
        return Records._make(column[which] for column in self)

    def but(self, which: Mask) -> Records:
        """All but these records."""
        return self.where(~which) if which.any() else self


def record_at(files: StoreFiles, offset: int, size: int) -> tuple[bytes, RecordParts]:
    """The bytes of one whole record, and the places of its parts."""
    content, records, _ = piece_at(files, offset, size)
    return content, records


def bytes_at(files: StoreFiles, offset: int, size: int) -> bytes:
    """Bytes of one segment; empty if none has them, or they cannot be read."""
    segment = files.segment_at(offset)
    if segment is None or offset + size > segment.end:
        return b""
    try:
        with storage_of(segment.uri).open(segment.uri) as file:
            (content,) = file.read_ranges([(offset - segment.base, size)])
    except OSError:
        return b""
    return content


def size_at(files: StoreFiles, offset: int) -> int:
    """The size that a record says it has."""
    segment = files.segment_at(offset)
    assert segment is not None
    with storage_of(segment.uri).open(segment.uri) as file:
        return int(file.read_array(offset - segment.base, HEAD, 1)["size"][0])


def piece_at(files: StoreFiles, offset: int, size: int) -> tuple[bytes, RecordParts, bool]:
    """Some bytes, the places of the parts of the record in them, and whether they are a whole record."""
    segment = files.segment_at(offset)
    assert segment is not None
    with storage_of(segment.uri).open(segment.uri) as file:
        (content,) = file.read_ranges([(offset - segment.base, size)])
    records, valid = measure(PaddedBuffer.of(content).u8, len(content), np.zeros(1, np.intp), offset)
    return content, records, bool(valid[0])


_Number = TypeVar("_Number", int, Numbers)


def held_back(queue: _Number) -> _Number:
    """Turn numbers of queues into numbers below 0, for records that brokers put into no queue, and back. -1 stays: no queue is known."""
    return -2 - queue
