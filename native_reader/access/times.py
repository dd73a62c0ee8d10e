"""Between which moments the records of each segment were stored, as the first records of all segments tell.

A broker's clock may step back. Steps of up to a tolerance are allowed for everywhere; where the next segment begins earlier
than this one, the clock stepped back further or one of the two heads lies, and nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from native_reader.access.plan import Times
from native_reader.layout.record import ENTRY_HEAD, LONGEST_HEAD, MAGIC_V1, MAGIC_V2, PADDING, heads_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import DLEDGER, Segment

_SIDE_BY_SIDE = 32
_FOREVER = 2**62
_MOST_MILLISECONDS = 2**62 // 1000


def times_of(segments: Sequence[Segment], tolerance: int) -> Times:
    """The bounds of each segment's store times, in microseconds, widened by the tolerance; the last segment has no upper one."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        firsts = list(threads.map(_first_store_times, segments, [1] * (len(segments) - 1) + [2]))
    bounds: dict[int, tuple[int, int]] = {}
    for which, (segment, first) in enumerate(zip(segments, firsts, strict=True)):
        after = firsts[which + 1] if which + 1 < len(firsts) else first[1:]
        if first and after and after[0] >= first[0] - tolerance:
            behind = max(first[0], after[0]) + tolerance if which + 1 < len(firsts) else _FOREVER
            bounds[segment.base] = min(first[0], after[0]) - tolerance, behind
    return Times(bounds)


def _first_store_times(segment: Segment, count: int) -> list[int]:
    """Of the first so many records, in microseconds since 1970; fewer where no record stands there, or the file cannot be read."""
    frame = ENTRY_HEAD if segment.framing == DLEDGER else 0
    found: list[int] = []
    try:
        with storage_of(segment.uri).open(segment.uri) as file:
            position = frame
            for _ in range(count):
                (begin,) = file.read_ranges([(position, LONGEST_HEAD)])
                u8 = np.zeros(LONGEST_HEAD + PADDING, np.uint8)
                u8[: len(begin)] = np.frombuffer(begin, np.uint8)
                head = heads_of(u8, np.zeros(1, np.intp))[0]
                milliseconds, size = int(head["store_timestamp"]), int(head["size"])
                valid = head["magic"] in (MAGIC_V1, MAGIC_V2) and head["physical_offset"] == segment.base + position and size > 0
                if not valid or abs(milliseconds) > _MOST_MILLISECONDS:
                    break
                found.append(milliseconds * 1000)
                position += size + frame
    except OSError:
        return []
    return found
