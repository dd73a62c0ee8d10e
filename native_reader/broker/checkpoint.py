"""The file in which a broker writes how far it is. `layout.progress` describes it."""

from __future__ import annotations

from native_reader.layout.progress import CHECKPOINT_SIZE, Checkpoint, checkpoint_in
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
