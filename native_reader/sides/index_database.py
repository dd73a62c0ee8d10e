"""The index in RocksDB (5.4.0+, `indexRocksDBEnable`): where it places records with a key or an id, and which offsets it covers.

What it says is checked as what an index file says. Nothing shows where it is not complete: a broker that lost the end of its log and
kept the index gives new records no rows below the last indexed offset; and it may have been off for less than an hour or two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from native_reader.broker.store_database import has_store_database
from native_reader.errors import UnreadableError
from native_reader.layout.index_entry import key_hash
from native_reader.layout.store_database import (
    HOUR,
    ID,
    KEY,
    LAST_OFFSET,
    OFFSET_SIZE,
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
from native_reader.sentences import Said, say, told
from native_reader.sides.index import FileHits, Hits
from native_reader.storage.rocksdb import Database, open_database
from native_reader.storage.store import Segment
from native_reader.storage.window import Window

_MOST_ROWS = 100_000
"""Rows of one hour that are read to find its first record. An hour with more rows counts as not covered."""
_MOST_LOOKUPS = 1 << 20
"""Words times hours. More take seconds."""
_LATE = 600_000
"""Milliseconds. A clock may step back by so much: a segment covers an hour only if it begins so long after it."""
_TRIED = 1000
"""Rows of an hour that are tried as a proof: those with an `@` in a word are none."""


def index_database(store: str) -> str | None:
    """The URI of the database that may have an index of the store at that URI; None if nothing was ever written to it."""
    return f"{store}/{STORE_DATABASE}" if has_store_database(store) else None


def has_rows(uri: str) -> bool:
    """Whether the database has an index. One that cannot be opened may have one."""
    try:
        with open_database(uri) as database:
            first = database.first_key(b"\0")
            return first is not None and hour_of(first) is not None
    except UnreadableError:
        return True


def search_database(uri: str, segments: Sequence[Segment], wanted: Mapping[tuple[str, str], int], most: int | None) -> FileHits | None:
    """Find the rows of those topics and words, by their hashes in index files; None if the database has no index.

    Gives up when more than `most` rows match.
    """
    try:
        with open_database(uri) as database:
            return _found(database, segments, wanted, most)
    except UnreadableError as error:
        return _unused(uri, told(error))


def _found(database: Database, segments: Sequence[Segment], wanted: Mapping[tuple[str, str], int], most: int | None) -> FileHits | None:
    first, last = database.first_key(b"\0"), database.last_key(b"\0")
    if first is None or last is None:
        return None
    oldest, newest = hour_of(first), hour_of(last)
    end = next((number_in(value) for key, value in database.items(LAST_OFFSET) if key == LAST_OFFSET), None)
    if oldest is None or newest is None or end is None:
        return _unused(database.uri, Said("index rows wrong"))
    hours = range(oldest, newest + 1, HOUR)
    if len(hours) * len(wanted) > _MOST_LOOKUPS:
        return _unused(database.uri, say("index lookups", keys=len(wanted), hours=len(hours)))
    rows = (hit for hour in hours for hit in _rows(database, hour, wanted))
    found = list(rows if most is None else islice(rows, most + 1))
    if most is not None and len(found) > most:
        return _unused(database.uri, say("index rows many", most=most))
    # In an hour without rows it may have been off.
    since = max((hour + HOUR for hour in hours if database.first_key(hour_key(hour)) is None), default=oldest)
    begin = _begin(database, since, segments)
    why = say("index one hour", most=_MOST_ROWS) if begin is None else None
    return FileHits(database.uri, begin or 0, end, 0, _hits(sorted({*found})), _proofs(database, since, newest), why, without_ids=False)


def _unused(uri: str, why: Said) -> FileHits:
    return FileHits(uri, why=why, without_ids=False)


def _rows(database: Database, hour: int, wanted: Mapping[tuple[str, str], int]) -> Iterator[tuple[int, int]]:
    """Hash and offset of the rows of one hour. Few: a key has few records."""
    for (topic, word), hashed in wanted.items():
        for kind in (KEY, ID):
            prefix = rows_prefix(hour, topic, kind, word)
            for key, _ in database.items(prefix):
                # `a@` also begins the rows of a key `a@b`. Only the record's own row says where its UNIQ_KEY begins.
                if len(key) == len(prefix) + OFFSET_SIZE if kind == ID else database.has(id_row(key, prefix, topic)):
                    yield hashed, offset_of(key)


def _begin(database: Database, hour: int, segments: Sequence[Segment]) -> int | None:
    """From where on the log has rows: the first record of that hour, or of a segment that begins after that hour."""
    keys = [key for key, _ in islice(database.items(hour_key(hour)), _MOST_ROWS + 1)]
    if len(keys) <= _MOST_ROWS:
        return min(map(offset_of, keys))
    for segment in segments:
        with Window(segment, 0) as window:
            head = head_at(window, 0)
        is_record = int(head["physical_offset"]) == segment.base + segment.frame
        if is_record and int(head["store_timestamp"]) >= hour + HOUR + _LATE:
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
