"""The index in RocksDB (5.4.0+, `indexRocksDBEnable`): where it places records with a key or an id, and which offsets it covers.

What it says is checked as what an index file says. It is not complete where a broker lost the end of its log and kept the index:
new records below the last indexed offset get no rows then. And it lacks messages without UNIQ_KEY.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from native_reader.errors import UnreadableError
from native_reader.layout.index_entry import key_hash
from native_reader.layout.store_database import (
    HOUR,
    ID,
    KEY,
    LAST_OFFSET,
    STORE_DATABASE,
    Indexed,
    hour_key,
    hour_of,
    id_row,
    indexed_in,
    number_in,
    offset_of,
    rows_prefix,
)
from native_reader.records.sync import head_at
from native_reader.sides.index import FileHits, Hits
from native_reader.storage.rocksdb import Database, has_entries, is_database, open_database
from native_reader.storage.store import Segment
from native_reader.storage.window import Window

_MOST_ROWS = 100_000
"""Rows of the oldest hour that are read to find its first record. An hour with more rows counts as not covered."""
_MOST_LOOKUPS = 1 << 20
_LATE = 600_000
"""Milliseconds. A clock may step back by so much: a segment covers an hour only if it begins so long after it."""
_TRIED = 1000


def index_database(store: str) -> str | None:
    """The URI of the database that may have an index of the store at that URI; None if nothing was ever written to it."""
    uri = f"{store}/{STORE_DATABASE}"
    return uri if is_database(uri) and has_entries(uri) else None


def has_rows(uri: str) -> bool:
    """Whether the database has an index. One that cannot be opened may have one."""
    try:
        with open_database(uri) as database:
            first = database.first_key(b"\0")
            return first is not None and hour_of(first) is not None
    except UnreadableError:
        return True


def search_database(uri: str, segments: Sequence[Segment], wanted: Mapping[tuple[str, str], int]) -> FileHits | None:
    """Find the rows of those topics and words, by their hashes in index files; None if the database has no index."""
    try:
        with open_database(uri) as database:
            return _found(database, segments, wanted)
    except UnreadableError as error:
        return FileHits(uri, why=str(error), without_ids=False)


def _found(database: Database, segments: Sequence[Segment], wanted: Mapping[tuple[str, str], int]) -> FileHits | None:
    first, last = database.first_key(b"\0"), database.last_key(b"\0")
    hours = [None if key is None else hour_of(key) for key in (first, last)]
    end = next((number_in(value) for key, value in database.items(LAST_OFFSET) if key == LAST_OFFSET), None)
    if first is None and last is None:
        return None
    oldest, newest = hours
    if oldest is None or newest is None or end is None:
        return FileHits(database.uri, why="it has rows that are no index", without_ids=False)
    count = (newest - oldest) // HOUR + 1
    if count * len(wanted) > _MOST_LOOKUPS:
        too_many = f"to look up {len(wanted):,} keys in {count:,} hours takes longer than to read the log"
        return FileHits(database.uri, why=too_many, without_ids=False)
    found = sorted({hit for hour in range(oldest, newest + 1, HOUR) for hit in _rows(database, hour, wanted)})
    begin = _begin(database, oldest, segments)
    why = "its oldest hour is the only one, and too long to see where it begins" if begin is None else None
    return FileHits(database.uri, begin or 0, end, 0, _hits(found), _proofs(database, oldest, newest), why, without_ids=False)


def _rows(database: Database, hour: int, wanted: Mapping[tuple[str, str], int]) -> Iterator[tuple[int, int]]:
    """Hash and offset of the rows of one hour. Few: a key has few records."""
    for (topic, word), hashed in wanted.items():
        for kind in (KEY, ID):
            prefix = rows_prefix(hour, topic, kind, word)
            for key, _ in database.items(prefix):
                # `a@` also begins the rows of a key `a@b`. Only the record's own row says where its UNIQ_KEY begins.
                if len(key) == len(prefix) + 8 if kind == ID else database.has(id_row(key, prefix, topic)):
                    yield hashed, offset_of(key)


def _begin(database: Database, oldest: int, segments: Sequence[Segment]) -> int | None:
    """From where on the log has rows: the first record of the oldest hour, or of a segment that begins after that hour."""
    keys = [key for key, _ in islice(database.items(hour_key(oldest)), _MOST_ROWS + 1)]
    if len(keys) <= _MOST_ROWS:
        return min(map(offset_of, keys))
    for segment in segments:
        with Window(segment, 0) as window:
            if int(head_at(window, 0)["store_timestamp"]) >= oldest + HOUR + _LATE:
                return segment.base
    return None


def _proofs(database: Database, *hours: int) -> Hits:
    """A row of each of those hours, to be checked against the log."""
    rows = [next(_unambiguous(database, hour), None) for hour in hours]
    return _hits(sorted({(key_hash(row.topic, row.word), row.offset) for row in rows if row is not None}, key=lambda hit: hit[1]))


def _unambiguous(database: Database, hour: int) -> Iterator[Indexed]:
    for key, _ in islice(database.items(hour_key(hour)), _TRIED):
        if (row := indexed_in(key)) is not None:
            yield row


def _hits(pairs: Sequence[tuple[int, int]]) -> Hits:
    hashes, offsets = np.array(pairs, np.int64).reshape(-1, 2).T
    return Hits(hashes, offsets)
