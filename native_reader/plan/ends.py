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


class CheckedEnd(NamedTuple):
    """Where a read of one log ends, how many bytes of old records follow, and what is lost."""

    offset: int
    stale: int = 0
    lost: Lost | None = None


def find_ends(stores: Iterable[StoreFiles], planning: Planning) -> dict[str, CheckedEnd]:
    """The end of each log, by store URI. Foreign bytes after it are an error; a lenient read counts them as damage of the log."""
    return {store.uri: _find_end(store, planning) for store in stores}


def _find_end(store: StoreFiles, planning: Planning) -> CheckedEnd:
    # A user who allows no cuts inside a segment (large max_partition_bytes) gets none here either.
    walked_whole = max(_WALKED_WHOLE, planning.max_partition_bytes)
    end = look_at_end(store, planning.max_record_bytes, walked_whole, past_unreadable=planning.lenient, tail=planning.tail)
    lost = lost_after(store, end) if planning.tail in (AVAILABLE, ALL) and not is_live(store.uri) else None
    if end.stale:
        _log.info("%s: %s bytes of old records follow the end of the log: a broker discarded them", store.uri, f"{end.stale:,}")
    if lost is None:
        return CheckedEnd(end.offset, end.stale)
    if lost.is_loss and planning.fail_on_data_loss and not planning.lenient:
        raise lost.error()
    _log.warning("%s", lost)
    return CheckedEnd(max(end.offset, lost.junk_end) if planning.lenient else end.offset, end.stale, lost)
