"""How far the timer of a broker 5.0+ is, from `config/timercheck` or, with `timerRocksDBEnable` (5.4.0+), from `rocksdbstore`."""

from __future__ import annotations

import logging

from native_reader.broker.store_database import timer_in_database
from native_reader.errors import UnreadableError
from native_reader.layout.progress import TIMER_CHECK_SIZE, TimerCheck, timer_check_in
from native_reader.storage.protocol import storage_of

_log = logging.getLogger("native_reader")


def timer_check_of(store: str, config: str | None) -> TimerCheck | None:
    """The progress of the timer that the broker used last; None if it is not known.

    With the timer in RocksDB, the file's time goes on and its queue offset stands still. So the larger queue offset is the true one.
    """
    in_file = _in_file(config)
    try:
        in_database = timer_in_database(store)
    except UnreadableError as error:
        _log.warning("%s. Messages of the timer are `unknown` without it", error)
        return None
    if in_file is None or in_database is None:
        return in_database or in_file
    return max(in_file, in_database, key=lambda check: check.queue_offset)


def _in_file(config: str | None) -> TimerCheck | None:
    """The file `timercheck`; None if it is missing, truncated, or was never written to."""
    if config is None:
        return None
    try:
        with storage_of(config).open(f"{config}/timercheck") as file:
            (content,) = file.read_ranges([(0, TIMER_CHECK_SIZE)])
    except OSError:
        return None
    return timer_check_in(content)
