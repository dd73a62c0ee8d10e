"""A store in which the messages of another one were sent again: the same messages, at other places."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from native_reader.writing.records import checksum_of
from support.store_damages import records, segments
from support.stores import on_disk


def resent(store: Path, to: Path, *, crc: bool = False, change: Callable[[bytearray], None] | None = None, times: int = 1) -> Path:
    """The messages of a store in another log: in another order, in other queues, at other queue offsets."""
    whole = [(path.read_bytes()[at : at + size]) for path in segments(store) for at, size in records(path)][::-1] * times
    size, log, at = segments(store)[0].stat().st_size, list[bytes](), 0
    for number, record in enumerate(whole):
        if at % size + len(record) + 8 > size:
            rest = size - at % size
            log.append(struct.pack(">iI", rest, 0xCBD43194).ljust(rest, b"\0"))
            at += rest
        moved = bytearray(record)
        moved[12:16], moved[20:36] = struct.pack(">i", 7), struct.pack(">qq", 50_000 + number, at)
        if change is not None:
            change(moved)
        if crc:
            moved[-20:] = checksum_of(bytes(moved[:-20]))
        log.append(bytes(moved))
        at += len(record)
    content = b"".join(log)
    return on_disk(to, {f"commitlog/{base:020d}": content[base : base + size].ljust(size, b"\0") for base in range(0, len(content), size)})
