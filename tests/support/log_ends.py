"""Logs with old bytes after their end, and checkpoints."""

from __future__ import annotations

from struct import pack

from support.queued_stores import dispatched
from support.stores import ZERO, Files, log_of, message


def checkpoint(flushed: int = 0, dispatched_time: int = 0, confirmed: int = 0) -> bytes:
    return pack(">5q", flushed, dispatched_time, 0, 0, confirmed).ljust(4096, b"\0")


def cut_log(*, gap: bytes = b"half of a record that was overwritten" * 4) -> tuple[Files, int, int]:
    """A broker wrote forty records, lost the last twenty and wrote five more.

    Returns the files, the end of the log, and the offset of the first old record after it.
    """
    old = log_of([message(number, store_timestamp=1000 + number) for number in range(40)], 1 << 16)
    new = log_of([message(number, store_timestamp=1000 + number) for number in range(20)], 1 << 16)
    for number in range(20, 25):
        new.append(message(number, store_timestamp=5000 + number, body=b"written after the cut"))
    begins = next(each.offset for each in old.placed if each.offset > new.end + len(gap))
    (_, before), (_, after) = *old.segments(), *new.segments(preallocated=False)
    between = (after + gap).ljust(begins, b"\xee")[:begins]
    queues = dispatched(old.placed, file=20 * 50) | dispatched(new.placed, file=20 * 50)
    return {f"store/commitlog/{ZERO}": between + before[begins:]} | queues, new.end, begins
