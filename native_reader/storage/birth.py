"""What tells a file from a later one of the same name: its inode, and when it was made.

A file system gives the number of a deleted inode to the next file. When a file was made is asked with statx(2): Linux 4.11, glibc
2.28; os.stat of Python 3.11 does not tell it. Times of changes do not help: brokers map their files, and backups link them.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

Look = tuple[int, int, int]
"""Of one file: mode, size, identity."""

_WANTED = ctypes.c_uint(0x1 | 0x100 | 0x200 | 0x800)
"""Type, inode, size, birth."""
_KNOWS_BIRTH = 0x800
_NO_AUTOMOUNT, _EMPTY_PATH, _WORKING_DIRECTORY = 0x800, 0x1000, -100
_STATX = struct.Struct("=I24xH2xQQ32xqI164x")
"""Known fields, mode, inode, size, birth in seconds and nanoseconds."""
_INODE = (1 << 64) - 1


def statx_of(library: object) -> Callable[..., int] | None:
    """The function of that C library; None in one that lacks it. No `argtypes`: conversions cost more than the call."""
    return getattr(library, "statx", None)


_statx = statx_of(ctypes.CDLL(None))


def looks(directory: int = _WORKING_DIRECTORY, *, itself: bool = False) -> Callable[[bytes], Look | None]:
    """A function that looks at a name in an open directory, or at a path; `itself`: at what is open there, whatever the name.

    The function answers None where nothing is found, or the system cannot tell: os.stat then knows more. Each thread needs its own.
    """
    statx, found, unpack = _statx, ctypes.create_string_buffer(_STATX.size), _STATX.unpack_from
    if statx is None:
        return lambda _: None
    view, where, flags = memoryview(found), ctypes.c_int(directory), ctypes.c_int(_EMPTY_PATH if itself else _NO_AUTOMOUNT)

    def look(name: bytes) -> Look | None:
        if statx(where, name, flags, _WANTED, found):
            return None
        known, mode, inode, size, seconds, nanoseconds = unpack(view)
        return mode, size, (seconds << 30 | nanoseconds) << 64 | inode if known & _KNOWS_BIRTH else inode

    return look


def may_be_one_file(one: int, other: int) -> bool:
    """Whether two identities can be of one file. Two machines may see it where only one of them knows its birth."""
    knows_both = one >> 64 and other >> 64
    return one == other if knows_both else (one ^ other) & _INODE == 0
