"""Proof that a record is complete and not part of another record's body: its consume queue entry.

A broker copies a record into the file without marking its end. Another process can see the head before the properties, with
every checksum right. Data that is written later is proof: a successor, or the consume queue entry, which a broker (all
versions) writes only for a complete record. Bytes that were read before the proof may be incomplete, so read the record again:
a plan looks for the proof, and reads come later.
"""

from __future__ import annotations

from native_reader.layout.queue_entry import QUEUE_ENTRY, read_place
from native_reader.records.sync import head_at, layout_at
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import is_segment_name
from native_reader.storage.window import Window


def is_live(store: str) -> bool:
    """Whether a broker on this host uses the store at that URI: it holds a lock on the file `lock`."""
    return storage_of(store).is_locked(f"{store}/lock")


def has_queue_entry(window: Window, consume_queue: str | None, position: int) -> bool:
    """Whether a valid record starts at that position of the file and its consume queue entry has the same offset and size.

    The window does not change.
    """
    layout = layout_at(window, position) if consume_queue is not None else None
    if layout is None or consume_queue is None:
        return False
    head, frame = head_at(window, position), window.segment.frame
    topic = window.peek(layout.topic_at, layout.topic_size).decode("utf-8", "replace")
    if "/" in topic or "\0" in topic or topic in (".", ".."):  # no broker accepts such a name, and the path must stay below the queues
        return False
    queue = f"{consume_queue}/{storage_of(consume_queue).quoted(topic)}/{int(head['queue_id'])}"
    return _entry(queue, int(head["queue_offset"])) == (int(head["physical_offset"]), layout.size - frame)


def _entry(queue: str, number: int) -> tuple[int, int] | None:
    """Physical offset and size of one consume queue entry; None if there is none."""
    storage, place = storage_of(queue), number * QUEUE_ENTRY.itemsize
    try:
        for file in storage.list(queue):
            if file.is_file and is_segment_name(file.name) and int(file.name) <= place < int(file.name) + file.size:
                with storage.open(f"{queue}/{file.name}") as opened:
                    (entry,) = opened.read_ranges([(place - int(file.name), QUEUE_ENTRY.itemsize)])
                return read_place(entry) if len(entry) == QUEUE_ENTRY.itemsize else None
    except OSError:  # the queue is missing, deleted meanwhile, or unreadable
        return None
    return None
