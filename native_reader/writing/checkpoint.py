"""The checkpoint: how far a broker is. Big-endian."""

from __future__ import annotations

import struct
from typing import Final

_SIZE: Final = 4096


def checkpoint(physic: int, logics: int, index: int, *, confirmed: int = 0, dispatched: int = 0) -> bytes:
    """Times of the newest record flushed, dispatched and in a full index file; and offsets, which older brokers ignore."""
    return struct.pack(">6q", physic, logics, index, 0, confirmed, dispatched).ljust(_SIZE, b"\0")
