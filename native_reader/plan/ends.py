"""Finds where the logs of a read end, and reports what follows."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple

from native_reader.log.tail import ALL, AVAILABLE, look_at_end
from native_reader.log.witness import is_live
from native_reader.plan.beyond import Lost, lost_after
from native_reader.plan.planning import Planning
from native_reader.storage.store import StoreFiles

_WALKED_WHOLE = 8 << 20
_log = logging.getLogger("native_reader")


class Ends(NamedTuple):
    """By store URI: where the log ends, how many bytes of old records follow, and what is lost."""

    offsets: dict[str, int]
    stale: dict[str, int]
    lost: dict[str, Lost]


def ends_of(stores: Iterable[StoreFiles], how: Planning) -> Ends:
    """Find the end of each log. Foreign bytes after it are an error; a lenient read counts them as damage of the log."""
    found = Ends({}, {}, {})
    # A user who allows no cuts inside a segment (large max_partition_bytes) gets none here either.
    walked_whole = max(_WALKED_WHOLE, how.partition_bytes)
    for store in stores:
        end = look_at_end(store, how.max_record_bytes, walked_whole, past_unreadable=how.lenient, tail=how.tail)
        lost = lost_after(store, end) if how.tail in (AVAILABLE, ALL) and not is_live(store.uri) else None
        found.offsets[store.uri] = end.offset
        if end.stale:
            found.stale[store.uri] = end.stale
            _log.info("%s: %s bytes of old records follow the end of the log: a broker took them back", store.uri, f"{end.stale:,}")
        if lost is None:
            continue
        found.lost[store.uri] = lost
        if lost.is_loss and how.refuses_loss and not how.lenient:
            raise lost.error()
        _log.warning("%s", lost)
        if how.lenient:
            found.offsets[store.uri] = max(end.offset, lost.junk_end)
    return found
