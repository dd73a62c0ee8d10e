"""Which pages of a file are in this machine's memory, according to the kernel. No page is touched."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_PAGE = mmap.PAGESIZE


def absent(descriptor: int, offset: int, length: int) -> list[tuple[int, int]]:
    """The `(offset, length)` of each run of pages that are not in memory. The range must be inside the file.

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
