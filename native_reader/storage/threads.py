"""Calls a function for many files, in threads where each call to the storage is slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from native_reader.storage.protocol import storage_of

_SIDE_BY_SIDE = 64
Result = TypeVar("Result")


def map_files(function: Callable[[Any], Result], files: Sequence[Any], advanced: Callable[[], None] | None = None) -> list[Result]:
    """The result for each file, in order. `files`: anything with a `uri`, all in one storage.

    `advanced`: called after each result, in this thread.
    """
    if not files or not storage_of(files[0].uri).is_slow:  # threads cost more than such calls
        return list(_counted(map(function, files), advanced))
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        return list(_counted(threads.map(function, files), advanced))


def _counted(results: Iterator[Result], advanced: Callable[[], None] | None) -> Iterator[Result]:
    for result in results:
        if advanced is not None:
            advanced()
        yield result
