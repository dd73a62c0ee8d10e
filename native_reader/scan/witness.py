"""Proof that the newest record of a log that is being written was written to its end.

A broker copies a record into the file without any mark of its end, and another process can see its head before its
properties, with every checksum right. What is written after it is the proof: a successor, or its consume queue's entry,
which a broker (all versions) makes only of a whole record. The record must then be read afresh: a plan looks for the
proof, and reads come later.
"""

from __future__ import annotations

import struct

import numpy as np

from native_reader.scan.sync import frame_of, valid_records
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles, is_segment_name
from native_reader.storage.window import Window

_ENTRY = struct.Struct(">qiq")


def is_live(store: str) -> bool:
    """Whether a broker of this host runs on the store of that URI: it holds a lock on the file `lock`."""
    return storage_of(store).is_locked(f"{store}/lock")


def is_dispatched(store: StoreFiles, window: Window, position: int, size: int) -> bool:
    """Whether a queue knows the record that stands there."""
    frame = frame_of(window.segment)
    window.load(position, size)
    records, valid = valid_records(window, np.array([frame], np.intp))
    if not valid[0] or store.consume_queue is None:
        return False
    head, topic_at = records.heads[0], int(records.topic_at[0])
    topic = window.u8[topic_at : topic_at + int(records.topic_size[0])].tobytes().decode("utf-8", "replace")
    if "/" in topic or "\0" in topic or topic in (".", ".."):  # no broker takes such a name, and it must not lead elsewhere
        return False
    queue = f"{store.consume_queue}/{storage_of(store.consume_queue).quoted(topic)}/{int(head['queue_id'])}"
    entry = _entry(queue, int(head["queue_offset"]))
    return entry is not None and entry[0] == int(head["physical_offset"]) and entry[1] > 0


def _entry(queue: str, number: int) -> tuple[int, int] | None:
    """Physical offset and size of one entry of a consume queue; None where it has none."""
    storage, place = storage_of(queue), number * _ENTRY.size
    try:
        for file in storage.list(queue):
            if file.is_file and is_segment_name(file.name) and int(file.name) <= place < int(file.name) + file.size:
                with storage.open(f"{queue}/{file.name}") as opened:
                    (found,) = opened.read_ranges([(place - int(file.name), _ENTRY.size)])
                return _ENTRY.unpack(found)[:2] if len(found) == _ENTRY.size else None
    except (FileNotFoundError, NotADirectoryError):  # no queue, or one that went
        return None
    return None
