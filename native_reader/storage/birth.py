"""The identity of a file, to distinguish it from a later file of the same name: inode and birth time.

A file system reuses the inode numbers of deleted files. statx(2) returns the birth time (Linux 4.11, glibc 2.28); os.stat of
Python 3.11 does not. Modification and change times do not help: brokers write through memory maps, and backups make hard links.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

Look = tuple[int, int, int]
"""Mode, size and identity of one file."""

_WANTED = ctypes.c_uint(0x1 | 0x100 | 0x200 | 0x800)
"""Type, inode, size, birth time."""
_KNOWS_BIRTH = 0x800
_NO_AUTOMOUNT, _EMPTY_PATH, _WORKING_DIRECTORY = 0x800, 0x1000, -100
_STATX = struct.Struct("=I24xH2xQQ32xqI164x")
"""Mask of valid fields, mode, inode, size, birth time in seconds and nanoseconds."""
_INODE = (1 << 64) - 1


def statx_of(library: object) -> Callable[..., int] | None:
    """The statx function of a C library; None if it has none. No `argtypes`: conversions cost more than the call."""
    return getattr(library, "statx", None)


SYSTEM_STATX = statx_of(ctypes.CDLL(None))
"""The system's statx; None if it has none."""


def looks(directory: int = _WORKING_DIRECTORY, *, itself: bool = False) -> Callable[[bytes], Look | None]:
    """A function that looks up a name in an open directory, or a path. `itself`: the open file itself, whatever the name.

    It returns None if the name does not exist or the system does not support statx; use os.stat then. Each thread needs its own function.
    """
    statx, answer, unpack = SYSTEM_STATX, ctypes.create_string_buffer(_STATX.size), _STATX.unpack_from
    if statx is None:
        return lambda _: None
    view, where, flags = memoryview(answer), ctypes.c_int(directory), ctypes.c_int(_EMPTY_PATH if itself else _NO_AUTOMOUNT)

    def look(name: bytes) -> Look | None:
        if statx(where, name, flags, _WANTED, answer):
            return None
        known, mode, inode, size, seconds, nanoseconds = unpack(view)
        return mode, size, (seconds << 30 | nanoseconds) << 64 | inode if known & _KNOWS_BIRTH else inode

    return look


def may_be_one_file(one: int, other: int) -> bool:
    """Whether two identities may be the same file. Only one of two machines may see a birth time; then the inodes decide."""
    knows_both = one >> 64 and other >> 64
    return one == other if knows_both else (one ^ other) & _INODE == 0
