"""The files in which a broker writes how far it is, and how far its timer is. `layout.progress` describes them."""

from __future__ import annotations

from native_reader.layout.progress import CHECKPOINT_SIZE, TIMER_CHECK_SIZE, Checkpoint, TimerCheck, checkpoint_in, timer_check_in
from native_reader.storage.protocol import storage_of


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


def timer_check_of(config: str | None) -> TimerCheck | None:
    """The file `timercheck` in a configuration directory; None if it is missing, truncated, or was never written to."""
    if config is None:
        return None
    try:
        with storage_of(config).open(f"{config}/timercheck") as file:
            (content,) = file.read_ranges([(0, TIMER_CHECK_SIZE)])
    except OSError:
        return None
    return timer_check_in(content)
