"""The first and the last entry of each index file, and the records that they name: one of their keys has the hash of the entry."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from native_reader.options import MessageOptions
from native_reader.sides.index import Head, Hits, IndexFile, ends_inside, index_files
from native_reader.sides.trusted import check_hits, stale_after_of
from native_reader.storage.protocol import map_files
from native_reader.storage.store import StoreFiles
from native_reader.witness.contradiction import FOREIGN_INDEX, Contradiction, contradiction


def wrong_index_files(store: StoreFiles, end: int, doubted: set[int]) -> Iterator[Contradiction]:
    """Index files that contradict a log that ends at `end`. `doubted`: the first offsets of segments that are contradicted themselves.

    Entries before the log are older than it, and those after its end were discarded with it: neither contradicts.
    """
    files, log = index_files(store.index), (store.begins, end)
    found = map_files(lambda file: ends_inside(file, log), files)
    stale_after = stale_after_of(store)
    for file, ends in zip(files, found, strict=True):
        if ends is not None and not _is_stale(ends[0], stale_after):
            yield from _against(store, file, _undoubted(store, ends[1], doubted))


def _is_stale(head: Head, stale_after: int | None) -> bool:
    """Whether a broker deletes the file when it starts, because it crashed."""
    return stale_after is not None and head.end_time > stale_after


def _undoubted(store: StoreFiles, hits: Hits, doubted: set[int]) -> Hits:
    segments = map(store.segment_at, hits.offsets.tolist())
    return hits.where(np.array([segment is not None and segment.base not in doubted for segment in segments], np.bool_))


def _against(store: StoreFiles, file: IndexFile, hits: Hits) -> Iterator[Contradiction]:
    wrong = hits.offsets[check_hits(store, hits, MessageOptions().projection().max_record_bytes).sizes == 0].tolist()
    if wrong and len(wrong) == len(hits.offsets):
        yield contradiction(FOREIGN_INDEX, "foreign index", file=file.uri, offset=wrong[0], last=wrong[-1])
    elif wrong:
        yield contradiction(FOREIGN_INDEX, "wrong index entry", file=file.uri, offset=wrong[0])
