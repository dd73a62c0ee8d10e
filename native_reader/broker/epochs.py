"""The epochs of a log whose masters a controller chooses (5.0.0+): from where on each master wrote. `epochFileCheckpoint`, or its `.bak`.

    2                how many lines follow the second
    1387505703       CRC-32 of these lines with their ends, without its highest bit; 0: not checked
    1-0              the number of an epoch, and the offset in the log at which it begins
    5-84121          numbers need not follow each other: each election counts

A broker that finds another count or CRC reads `.bak` (CheckpointFile). When segments expire, it drops epochs that ended in them.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from native_reader.storage.protocol import storage_of

EPOCHS = "epochFileCheckpoint"
_MOST_BYTES = 1 << 20
_DIGITS = 19
_UNSIGNED = 0x7FFFFFFF


class Epoch(NamedTuple):
    """One master's part of the log. It ends where the next one begins."""

    number: int
    begin: int


class Epochs(NamedTuple):
    """Those of a store, in order, and the URI of the file that a broker takes. None: neither file can be used."""

    uri: str
    epochs: tuple[Epoch, ...] | None


def epochs_of(store: str) -> Epochs | None:
    """The epochs of the store at that URI; None if it has no such file."""
    found = None
    for uri in (f"{store}/{EPOCHS}", f"{store}/{EPOCHS}.bak"):
        try:
            with storage_of(uri).open(uri) as file:
                (content,) = file.read_ranges([(0, _MOST_BYTES)])
        except FileNotFoundError:
            continue
        if (epochs := epochs_in(content)) is not None:
            return Epochs(uri, epochs)
        found = found or Epochs(uri, None)
    return found


def epochs_in(content: bytes) -> tuple[Epoch, ...] | None:
    """The epochs in such a file; None if a broker does not take it."""
    lines = content.splitlines(keepends=True)
    if len(lines) < 2 or not (_is_number(lines[0]) and _is_number(lines[1])):
        return None
    crc, rows = int(lines[1]), lines[2:]
    if len(rows) != int(lines[0]) or crc not in (0, zlib.crc32(b"".join(rows)) & _UNSIGNED):
        return None
    pairs = [line.split(b"-") for line in rows]
    if not all(len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
        return None
    return tuple(Epoch(int(number), int(begin)) for number, begin in pairs)


def _is_number(text: bytes) -> bool:
    return text.strip().isdigit() and len(text.strip()) <= _DIGITS
