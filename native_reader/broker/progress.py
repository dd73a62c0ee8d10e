"""How far a broker is: its `checkpoint`, and its timer in `config/timercheck` or, with `timerRocksDBEnable` (5.4.0+), in `rocksdbstore`."""

from __future__ import annotations

import logging

from native_reader.broker.store_database import timer_in_database
from native_reader.errors import UnreadableError, warn
from native_reader.layout.progress import CHECKPOINT_SIZE, TIMER_CHECK_SIZE, Checkpoint, TimerCheck, checkpoint_in, timer_check_in
from native_reader.sentences import say, told
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
        warn(_log, say("timer unknown", why=told(error)))
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


def checkpoint_of(store: str) -> Checkpoint:
    """The checkpoint of the store at that URI; fields that are missing or unreadable are 0."""
    try:
        return read_checkpoint(store) or Checkpoint()
    except OSError:
        return Checkpoint()


def read_checkpoint(store: str) -> Checkpoint | None:
    """The checkpoint of the store at that URI, or None if it has none; fields after the end of a truncated file are 0."""
    try:
        with storage_of(store).open(f"{store}/checkpoint") as file:
            (content,) = file.read_ranges([(0, CHECKPOINT_SIZE)])
    except (FileNotFoundError, NotADirectoryError):
        return None
    return checkpoint_in(content)
