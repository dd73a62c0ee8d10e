"""What a read of a tier must know of one of its queues: the store it belongs to, and what the log of that store has too.

A record of a tier may stand in it several times: an inner batch once for each of its messages, and any record twice if the broker was
killed before it wrote the queue entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from native_reader.layout.record import HEAD, HEAD_SIZE, MAGIC_V1, MAGIC_V2
from native_reader.predicate.outcomes import Known, Null, exactly
from native_reader.sides.entries import Entries
from native_reader.sides.queues import Queue, QueueFile, QueueReader
from native_reader.storage.protocol import storage_of


@dataclass(frozen=True, slots=True)
class TierLog:
    """One queue of a tier. All values are plain: they are sent to tasks, and written down by an export.

    `store`: the URI of the store. `files`: of its queue, each with its first queue offset and its entries. `segments`: of its log,
    each with its first place and its URI.
    """

    store: str
    topic: str
    queue_id: int
    files: tuple[tuple[str, int, int], ...] = ()
    segments: tuple[tuple[int, str], ...] = ()
    in_log: tuple[tuple[int, int], ...] = ()
    """The ranges of queue offsets that the store's log has too: rows of the log, not of the tier."""

    @staticmethod
    def saved(values: Mapping[str, Any]) -> TierLog:
        """One that was written as JSON."""
        ranges = {name: tuple(map(tuple, values[name])) for name in ("files", "segments", "in_log")}
        return TierLog(**{**values, **ranges})

    @property
    def facts(self) -> dict[str, Known]:
        """What all its rows have in common."""
        return {"store": exactly(self.store), "tiered": exactly(True), "offset_msg_id": Null(), "queue_id": exactly(self.queue_id)}

    @property
    def stop(self) -> int:
        """The queue offset after the last one that its queue names."""
        return max((first + entries for _, first, entries in self.files), default=0)

    def start_of(self, number: int) -> int | None:
        """The place of the record with that queue offset, or of the first copy of its batch; None if it is not known."""
        with self._reader() as reader:
            found = self._own(reader.entry_from(number))
            if found is not None and found[1] < number:  # a message in a batch
                found = self._own(reader.entry_from(found[1]))
        return None if found is None else found[0]

    def before(self, place: int) -> int | None:
        """The queue offset of the last record before that place; None if there is none, or it is not known."""
        with self._reader() as reader:
            found = self._own(reader.last_below(place))
        return None if found is None else found[1]

    def _reader(self) -> QueueReader:
        files = tuple(QueueFile(*file) for file in self.files)
        return QueueReader(Queue(self.topic, self.queue_id, batch=False, files=files))

    def _own(self, entries: Entries) -> tuple[int, int] | None:
        """The place and the queue offset in the record that an entry names; None if no such record is there."""
        if len(entries) != 1:
            return None
        place = int(entries.offsets[0])
        uri, base = next(((uri, base) for base, uri in reversed(self.segments) if base <= place), ("", 0))
        try:
            with storage_of(uri).open(uri) as file:
                (content,) = file.read_ranges([(place - base, HEAD_SIZE)])
        except (OSError, ValueError):
            return None
        if len(content) < HEAD_SIZE:
            return None
        head = np.frombuffer(content, HEAD, 1)[0]
        number = int(head["queue_offset"])
        is_it = head["magic"] in (MAGIC_V1, MAGIC_V2) and head["physical_offset"] == place and head["queue_id"] == self.queue_id
        return (place, number) if is_it and 0 <= number <= int(entries.numbers[0]) else None
