"""How far the queues of a store reach: brokers since 5.3.2 begin their recovery by it."""

from __future__ import annotations

from typing import NamedTuple

from native_reader.sides.bounds import bounds_of
from native_reader.sides.queues import queues_of, topics_in
from native_reader.storage.store import StoreFiles


class Queued(NamedTuple):
    """Where the last record with a queue entry ends; -1 if there is no entry. A filler counts, as for a broker."""

    reached: int = -1
    in_rocksdb: bool = False

    @property
    def has_entries(self) -> bool:
        """Whether any queue names a record."""
        return self.reached >= 0


def queued_of(files: StoreFiles, enough: int) -> Queued:
    """Look at the last entry of each queue, until one reaches `enough`: a higher one makes no difference then."""
    in_rocksdb = bool(files.databases) and files.consume_queue is None
    reached = -1
    for topic in topics_in(files.queues, light=True):
        for queue in queues_of(topic):
            bounds = bounds_of(queue, 0)
            newest = None if bounds is None else bounds.newest
            if newest is not None:
                reached = max(reached, newest.offset + newest.size)
            if reached >= enough:
                return Queued(reached, in_rocksdb)
    return Queued(reached, in_rocksdb)
