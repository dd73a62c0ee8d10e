"""What Linux says about files: which one has a name, and which of its pages are in memory.

A file system reuses the inode numbers of deleted files, so a file is identified by its inode and its birth time. statx(2) returns it
(Linux 4.11, glibc 2.28); os.stat of Python 3.11 does not. Modification and change times do not help: brokers write through memory
maps, and backups make hard links.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable

import numpy as np

Look = tuple[int, int, int]
"""Mode, size and identity of one file."""

_WANTED = ctypes.c_uint(0x1 | 0x100 | 0x200 | 0x800)
"""Type, inode, size, birth time."""
_KNOWS_BIRTH = 0x800
_NO_AUTOMOUNT, _EMPTY_PATH, _WORKING_DIRECTORY = 0x800, 0x1000, -100
_STATX = struct.Struct("=I24xH2xQQ32xqI164x")
"""Mask of valid fields, mode, inode, size, birth time in seconds and nanoseconds."""
_Answer = ctypes.c_char * _STATX.size
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
    statx, answer, unpack = SYSTEM_STATX, _Answer(), _STATX.unpack_from
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


_PAGE = mmap.PAGESIZE


def absent(descriptor: int, offset: int, length: int) -> list[tuple[int, int]]:
    """The `(offset, length)` of each run of pages that are not in memory; none is touched. The range must be inside the file.

    Empty if unknown. Linux reports the pages of files that the user owns or may write, and reports all others as resident.
    """
    begin = offset // _PAGE * _PAGE
    mincore = getattr(ctypes.CDLL(None), "mincore", None)
    if mincore is None or length <= 0:
        return []
    mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    # The map is never read, so truncating the file cannot raise SIGBUS.
    with mmap.mmap(descriptor, offset + length - begin, mmap.MAP_SHARED, mmap.PROT_READ, offset=begin) as mapped:
        pages = np.ones(-(-len(mapped) // _PAGE), np.uint8)
        view = np.frombuffer(mapped, np.uint8)
        failed = mincore(view.ctypes.data, len(mapped), pages.ctypes.data)
        del view
    if failed:
        return []
    edges = np.flatnonzero(np.diff((pages & 1) == 0, prepend=False, append=False))
    return [(begin + int(first) * _PAGE, int(stop - first) * _PAGE) for first, stop in edges.reshape(-1, 2)]
