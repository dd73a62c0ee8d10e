"""What becomes of the database with queues: whether its entries are right for the new log, and which of them a broker must add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.kinds import OP_TOPIC
from native_reader.layout.queue_entry import is_light, is_written
from native_reader.layout.record import Mask
from native_reader.repair.databases import QueueDatabase, queues_in
from native_reader.repair.log_shape import LogShape
from native_reader.repair.old_queues import OldQueue
from native_reader.repair.refusals import refusal
from native_reader.repair.survey import NewQueue
from native_reader.sentences import Said, say
from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Queue, QueueReader
from native_reader.storage.rocksdb_queues import queues_uri
from native_reader.storage.store import QUEUE_DATABASES

COPIED, ADDED, LEFT_OUT = "copied", "added", "left out"
"""All of its entries are right; a broker adds the last ones when it starts; or it makes all of them again."""
_RECOVERED = 10
"""From so many of the last segments, a broker since 5.5.0 puts records into queues when it starts (commitLogRecoverMaxNum)."""
_AT_ONCE = 1 << 16
_NOWHERE = 2**63 - 1
_MOST_APART = 1 << 22


class NewDatabase(NamedTuple):
    """The database with queues. `segments`: from how many of the last ones a broker must put records into queues."""

    uri: str
    is_second: bool
    way: str
    segments: int = 0

    @property
    def name(self) -> str:
        """Its directory in the new store."""
        name = self.uri.rpartition("/")[2]
        return name if name in QUEUE_DATABASES else QUEUE_DATABASES[0]

    @property
    def is_right(self) -> bool:
        """Whether all of its entries are right."""
        return self.way == COPIED

    @property
    def needs_recovery(self) -> bool:
        """Whether a broker must start as after a crash: else it leaves out records that are not in the queues."""
        return not (self.is_right or self.is_second)

    @property
    def said(self) -> Iterator[Said]:
        """What becomes of it."""
        if self.is_right:
            yield say("database copied", name=self.name)
        elif self.is_second:
            yield say("second database left out", name=self.name)
        elif self.way == ADDED:
            yield say("database added", name=self.name, segments=self.segments)
        else:
            yield say("database left out", name=self.name)
        if self.needs_recovery and self.segments > _RECOVERED:
            yield say("many to recover", segments=self.segments, usual=_RECOVERED)

    def holds(self, topic: str) -> bool:
        """Whether the queues of a topic are in the database, and not in files."""
        return not self.is_second or is_light(topic)


def new_database(
    found: QueueDatabase, old: Mapping[tuple[str, int], OldQueue], queues: Sequence[NewQueue], shape: LogShape, *, has_stale: bool
) -> NewDatabase:
    """Decide it. `has_stale`: old records follow the end of the log, and a broker truncates their entries itself."""
    if found.is_whole:
        lacking = _lacking_in_second(found, queues) if found.is_second else _lacking(queues)
        first = min(lacking, default=_NOWHERE)
        ends = {(each.topic, each.queue_id): each.stop for each in queues}
        is_ahead = not has_stale and any(_has_entries_after(each, ends.get(key, 0), shape.begin) for key, each in old.items())
        if first == _NOWHERE and not is_ahead:
            return NewDatabase(found.uri, found.is_second, COPIED)
        begin = min(found.dispatched, shape.stop - 1) // shape.size * shape.size
        if first >= begin and not (is_ahead or found.is_second):
            _refuse_mixed(queues, begin)
            return NewDatabase(found.uri, found.is_second, ADDED, (shape.stop - begin) // shape.size)
    if found.is_second and any(is_light(each.topic) for each in queues):
        raise refusal("rocksdb light", name=found.uri)
    if not found.is_second:
        _refuse_mixed(queues, shape.begin)
    return NewDatabase(found.uri, found.is_second, LEFT_OUT, len(shape.bases))


def _refuse_mixed(queues: Sequence[NewQueue], begin: int) -> None:
    """Brokers (5.4.0, 5.5.0) put several records at once into queues, the last one first: of two, the earlier one stays."""
    for queue in queues:
        if queue.survivors.earlier >= begin:
            raise refusal("rocksdb mixed", topic=queue.topic, queue=queue.queue_id, offset=queue.survivors.earlier)


def _lacking(queues: Sequence[NewQueue]) -> Iterator[int]:
    """Offsets of records whose entries a database lacks, or has otherwise, as far as they are known: at least the lowest one."""
    for queue in queues:
        if len(queue.wanted) < queue.survivors.lacking:  # they are not in memory
            yield 0
        yield from queue.wanted["entry"]["offset"].tolist()
        before, lost = queue.survivors.before, np.sort(queue.lost, order="slot")
        for begin in range(0, len(lost), _AT_ONCE):
            part = lost[begin : begin + _AT_ONCE]
            first, stop = int(part["slot"][0]), int(part["slot"][-1]) + 1
            entries = np.zeros(len(part), part["entry"].dtype)
            if before is not None and stop - first <= _MOST_APART:
                entries = before.read(first, stop)[part["slot"] - first]
            yield from part["entry"]["offset"][~_lead_to(queue.topic, entries, part["entry"])].tolist()


def _lead_to(topic: str, entries: NDArray[np.void], wanted: NDArray[np.void]) -> Mask:
    """Which entries lead to placeholders. They may have the tags of the lost records, but placeholders of the op topic have none."""
    same: Mask = (entries["offset"] == wanted["offset"]) & (entries["size"] == wanted["size"])
    return same & (entries["tags_code"] == wanted["tags_code"]) if topic == OP_TOPIC else same


def _has_entries_after(queue: OldQueue, stop: int, begin: int) -> bool:
    """Whether a queue has entries at its new end or after it, of records that have not expired."""
    for first in range(max(stop, queue.begin), queue.stop, _AT_ONCE):
        entries = queue.read(first, min(first + _AT_ONCE, queue.stop))
        if (is_written(entries) & (entries["offset"] >= begin)).any():
            return True
    return False


def _lacking_in_second(found: QueueDatabase, queues: Sequence[NewQueue]) -> Iterator[int]:
    """The same for a database beside the files of queues: what is in the files now must be in it, too."""
    copies = QueueCopies((found.beside or found.uri, queues_uri(found.uri)))
    inside = {(queue.topic, queue.queue_id): queue for queue in queues_in((queues_uri(found.uri),)) if queue.files}
    for queue in queues:
        mine = inside.get((queue.topic, queue.queue_id))
        changed = np.sort(np.concatenate([queue.wanted, queue.lost]), order="slot")
        if len(queue.wanted) < queue.survivors.lacking or (mine is None and queue.stop):
            yield 0
        elif mine is not None:
            yield from _differing(copies, mine, queue, changed)


def _differing(copies: QueueCopies, mine: Queue, queue: NewQueue, changed: NDArray[np.void]) -> Iterator[int]:
    with QueueReader(mine) as reader:
        end = reader.number_at(reader.bound() - 1) + 1 if reader.bound() else 0
        if end != queue.stop or copies.differing(mine) is not None:
            yield 0
        for part in np.split(changed, range(_AT_ONCE, len(changed), _AT_ONCE)):
            for slot, entry in zip(part["slot"].tolist(), part["entry"], strict=True):
                if not _lead_to(queue.topic, reader.slots(slot, slot + 1), np.array([entry], entry.dtype)).all():
                    yield int(entry["offset"])
                    return
