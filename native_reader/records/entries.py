"""What a DLedger log has between the entries of messages: blanks, and entries of DLedger itself."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from native_reader.layout.begin import read_pair
from native_reader.layout.record import BLANK_HEAD, ENTRY, ENTRY_HEAD, MAGIC_ENTRY_BLANK
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles

_OF_DLEDGER = 2, 3
"""The magics of entries without a message: NOOP and CONFIG_CHANGE."""


class Unused(NamedTuple):
    """Bytes of one file without a message, up to `stop`. `entries`: the offsets and sizes of DLedger's own ones among them."""

    stop: int
    entries: list[tuple[int, int]]


def unused_from(files: StoreFiles, at: int, stop: int) -> Unused:
    """The bytes from an offset on that hold no message: the blank that ends or begins a file, and such entries. At most up to `stop`."""
    entries = list[tuple[int, int]]()
    while at < stop:
        begin = _bytes_at(files, at, min(ENTRY_HEAD, stop - at))
        if len(begin) < BLANK_HEAD:
            break
        magic, size = read_pair(begin)
        is_own = (
            magic in _OF_DLEDGER and len(begin) == ENTRY_HEAD <= size <= stop - at and int(np.frombuffer(begin, ENTRY)["position"][0]) == at
        )
        if is_own:
            entries.append((at, size))
        elif magic != MAGIC_ENTRY_BLANK or size != stop - at:
            break
        at += size
    return Unused(at, entries)


def _bytes_at(files: StoreFiles, at: int, size: int) -> bytes:
    """Bytes of one file; fewer if it does not have them, or they cannot be read."""
    segment = files.segment_at(at)
    with suppress(OSError):
        if segment is not None:
            with storage_of(segment.uri).open(segment.uri) as file:
                return file.read_ranges([(at - segment.base, size)])[0]
    return b""
