"""Writes the summary of a store: one pass over each full segment that has no part yet, which makes the tables of its part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.columns.batches import BatchBuilder
from native_reader.columns.chunk import Chunk, Columns
from native_reader.columns.makers import encoded_hosts
from native_reader.columns.rows import Rows, unwrapped
from native_reader.columns.schema import properties_of, schema_of
from native_reader.columns.strings import PaddedBuffer
from native_reader.errors import StoreDamaged
from native_reader.export.target import Target
from native_reader.layout.arrays import order_of
from native_reader.layout.properties import CRC_NAME, CRC_SIZE, KEYS, KEYS_SEPARATOR, UNIQ_KEY, VALUE_END
from native_reader.layout.record import INNER_BATCH, Bytes, Index, Mask, Records, unsigned_at
from native_reader.plan.ends import find_ends
from native_reader.plan.planning import Planning
from native_reader.plan.summarized import parts_in
from native_reader.predicate.tree import EVERYTHING
from native_reader.records.damages import Account
from native_reader.records.walk import CHUNK, ReadWalk
from native_reader.scan.progress import Meter, Watch
from native_reader.sentences import ENGLISH, Said, say
from native_reader.storage.local import LocalPath
from native_reader.storage.paths import uri_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles, is_live
from native_reader.storage.window import ReadRate, Window
from native_reader.summary.part import FACTS, GROUPS, RECORDS, VERSION, End, Facts, end_at
from native_reader.summary.part import KEYS as OF_KEYS
from native_reader.summary.pieces import KEYS_AT_ONCE, ROWS_AT_ONCE, PieceSums
from native_reader.summary.texts import HOSTS, TEXTS, TextCodes
from native_reader.text import size_of
from native_reader.verify.hashes import Texts, positive, words_of
from native_reader.verify.marks import Marks, new_marker

_MARKED_AT_ONCE = 1 << 17
_HASHED_DAMAGE = 64 << 10
_MOST_DECOMPRESSED = 64 << 20
_LABEL = int.from_bytes(CRC_NAME, "little")


@dataclass(slots=True)
class Summarized:
    """What a run did.

    Attributes:
        written: The names of the segments that got a part.
        kept: The names of the segments that had one.
        damaged: Those of `written` with damage. They are read as if they had no part.
        left_out: The names of the other segments: the newest ones, which are not full, and packed ones.
        bytes_read: The bytes of the log that were read.
        bytes_written: The bytes of the files that were written.

    Examples:
        >>> rmqstore.open("store").summarize("summary").written
        ['00000000000000000000', '00000000000000032768', '00000000000000065536']
    """

    written: list[str]
    kept: list[str]
    damaged: list[str]
    left_out: list[str]
    bytes_read: int = 0
    bytes_written: int = 0

    def lines(self, language: str = ENGLISH) -> Iterator[str]:
        """Say it in a few lines.

        Args:
            language: `en` or `zh`.
        """
        return (each.text(language) for each in self.said())

    def said(self) -> Iterator[Said]:
        """The same, for other languages."""
        yield say("parts written", parts=len(self.written), size=size_of(self.bytes_written), read=size_of(self.bytes_read))
        if self.kept:
            yield say("parts kept", parts=len(self.kept))
        if self.damaged:
            yield say("parts of damaged", segments=len(self.damaged), first=self.damaged[0])
        if self.left_out:
            yield say("parts left out", segments=len(self.left_out), first=self.left_out[0])


def summarize(store: StoreFiles, path: LocalPath, progress: Watch = False, rate: int | None = None) -> Summarized:
    """Write the parts that are missing."""
    (end,) = find_ends((store,), Planning(lenient=True, fail_on_data_loss=False)).values()
    with Target(path, (store,)) as target:
        for each in target.temporaries():
            target.discard(each)
        full = [segment for segment in store.segments[:-1] if segment.end <= end.offset and not segment.is_packed]
        parts = parts_in(uri_of(path), full)
        waiting = [segment for segment in full if not parts.has_current(segment)]
        kept = [segment.name for segment in full if segment not in waiting]
        done = Summarized([], kept, [], left_out=[segment.name for segment in store.segments if segment not in full])
        with Meter(progress, sum(segment.size for segment in waiting), monotonic) as meter:
            for segment in waiting:
                part = meter.part(segment.size)
                _Pass(segment, is_live=is_live(store.uri), rate=rate).write(target, done)
                part.end(0)
        target.remove_temporary_folder()
    return done


class _InnerKeys:
    """The keys of messages inside batches. `add` gets all records of a segment."""

    def __init__(self, segment: Segment) -> None:
        self._begin = segment.base + segment.frame
        self._columns = Columns((), "", segment.name, (KEYS, UNIQ_KEY))
        self._batches, self._offsets, self._hashes = ([np.empty(0, np.int64)] for _ in range(3))

    def add(self, rows: Rows) -> None:
        """Add records."""
        batches = rows.records.with_flag(INNER_BATCH)
        for piece in unwrapped(rows.where(batches), _MOST_DECOMPRESSED) if len(batches) else ():
            if piece.is_inner is not None and piece.is_inner.any():
                self._add_messages(self._columns.chunk(piece.where(piece.is_inner)))

    def _add_messages(self, messages: Chunk) -> None:
        offsets = messages.heads["physical_offset"].astype(np.int64)
        self._batches.append(np.unique(offsets))
        unique, keys = messages.property(UNIQ_KEY), messages.property(KEYS)
        words, rows = words_of(keys, ord(KEYS_SEPARATOR))
        has_unique = np.flatnonzero(numpy_of(unique.is_valid()))
        self._offsets += [offsets[has_unique], offsets[rows]]
        self._hashes += [positive(Texts.of(unique).hashes()[0])[has_unique], positive(words.hashes()[0])]

    def added_to(self, seen: Seen) -> Seen:
        """The same, with these keys. The keys of these batches are then known."""
        positions, batches = (np.concatenate(each) - self._begin for each in (self._offsets, self._batches))
        keys = np.concatenate((seen.key, np.concatenate(self._hashes).astype(np.int32)))
        rows = np.concatenate((seen.key_row, np.searchsorted(seen.position, positions)))
        return seen._replace(key=keys, key_row=rows, keyless=seen.keyless & ~np.isin(seen.position, batches))


class _Pass:
    """One pass over a segment."""

    def __init__(self, segment: Segment, *, is_live: bool, rate: int | None) -> None:
        self._segment, self._is_live, self._rate = segment, is_live, rate
        self._pieces, self._places = list[Seen](), list[Place]()
        self._rows = 0
        self._inner = _InnerKeys(segment)
        properties = [name for name in TEXTS if name not in HOSTS]
        self._columns = Columns(properties, "", segment.name, properties_of(properties, EVERYTHING))
        self._made = BatchBuilder(self._columns, schema_of(properties), 0)
        self._texts = {name: TextCodes() for name in TEXTS}

    def write(self, target: Target, done: Summarized) -> None:
        """Read the segment, and write its part."""
        segment = self._segment
        with storage_of(segment.uri).open(segment.uri) as file:
            written = file.written()
            account, last, largest = self._read()
            has_damage = account.record_bytes + account.blank_bytes != segment.size
            if has_damage:
                self._pieces.clear()
                self._inner = _InnerKeys(segment)
                self._texts.clear()
            texts = {name: codes for name, codes in self._texts.items() if codes.is_small}
            seen = self._inner.added_to(Seen._make(map(np.concatenate, zip(NOTHING, *self._pieces, strict=True))))
            first = int(seen.size[0]) + segment.frame if len(seen.size) else 0
            ends = (end_at(file, 0, _HASHED_DAMAGE),) if has_damage else (end_at(file, 0, first), end_at(file, *last))
        facts = replace(self._facts(account, written, ends, largest, has_damage=has_damage), texts=tuple(texts))
        done.bytes_written += _written(target, segment, tables_of(seen, self._places, texts), facts)
        done.bytes_read += segment.size
        done.written.append(segment.name)
        done.damaged += [segment.name] if has_damage else []

    def _facts(self, account: Account, written: int, ends: tuple[End, ...], largest: int, *, has_damage: bool) -> Facts:
        segment = self._segment
        return Facts(
            version=VERSION,
            segment=segment.name,
            size=segment.size,
            identity=segment.identity,
            framing=segment.framing,
            written=written,
            has_damage=has_damage,
            records=account.records,
            record_bytes=account.record_bytes,
            blank_bytes=account.blank_bytes,
            largest=largest,
            ends=ends,
            texts=(),
            files={},
        )

    def _read(self) -> tuple[Account, tuple[int, int], int]:
        """The account, the last record and the size of the largest one. The account does not have all bytes if some are damaged."""
        segment, marker, largest = self._segment, new_marker(), 0
        pace = None if self._rate is None else ReadRate(self._rate)
        opaque = list[Mask]()
        with Window(segment, CHUNK, pace=pace, leave_no_trace=self._is_live) as window:
            window.will_read(0, segment.size)
            walk = ReadWalk(window, 0, segment.size, segment.size, max_record_bytes=segment.size, hands_over=False)
            try:
                for records, _ in walk:
                    largest = max(largest, records.largest)
                    opaque.append(_opaque(window.u8, records))
                    rows = Rows(PaddedBuffer(window.u8, window.arrow), records)
                    self._add_texts(rows)
                    self._inner.add(rows)
                    if marker.add(window.u8, records) >= _MARKED_AT_ONCE:
                        self._keep(Marks._make(marker.taken()), opaque)
                        opaque = []
            except StoreDamaged:
                return Account(), (0, 0), 0
        self._keep(Marks._make(marker.taken()), opaque)
        return walk.account, walk.last_record or (0, 0), largest

    def _add_texts(self, rows: Rows) -> None:
        if len(rows):
            chunk = self._columns.chunk(rows)
            for _, batch in self._made.of(chunk):
                for name in self._columns.names:
                    self._texts[name].add(batch[name].dictionary_encode(null_encoding="encode"))
            for name in HOSTS:
                self._texts[name].add(encoded_hosts(chunk, name))

    def _keep(self, marks: Marks, opaque: list[Mask]) -> None:
        self._places += marks.places
        position = marks.offset - self._segment.base - self._segment.frame
        odd = np.concatenate([*opaque, np.zeros(0, np.bool_)]) | (marks.flags & INNER_BATCH != 0)
        keys = marks.key_row + self._rows, marks.key_alone.astype(np.int32)
        self._pieces.append(Seen(position, marks.size, marks.time, marks.queue_offset, marks.flags, marks.place, odd, odd, *keys))
        self._rows += len(position)


def _opaque(u8: Bytes, records: Records) -> Mask:
    """Whether a checksum follows the last value without a separator, as in batches from older clients: it then is part of a key's hash."""
    at = records.properties_at + records.properties_size - CRC_SIZE
    at = np.where(records.properties_size > CRC_SIZE, at, 1)
    odd: Mask = (unsigned_at(u8, len(CRC_NAME))[at] == np.uint64(_LABEL)) & (u8[at - 1] != VALUE_END)
    return odd


def _written(target: Target, segment: Segment, tables: Tables, facts: Facts) -> int:
    """Write the files of a part, that of groups last: without it, the others are no part. Returns their size."""
    files = dict[str, PieceSums]()
    for name, table in tables.others.items():
        content = encoded(table)
        with target.create(name) as sink:
            sink.write(content)
        target.flush(name)
        files[name] = PieceSums.of(content)
    with target.create("groups") as sink:
        write_groups(tables.groups, replace(facts, files=files), sink)
    groups = target.flush("groups")
    stem = f"{segment.name}-{groups.checksum:08x}"
    for name in (*files, "groups"):
        target.remove(f"{stem}.{name}.parquet")
        target.publish([(name, f"{stem}.{name}.parquet")])
    return groups.bytes + sum(each.size for each in files.values())


Place = tuple[bytes, int]
Ints = NDArray[np.signedinteger[Any]]
Narrow = NDArray[np.int32]


class Seen(NamedTuple):
    """What a pass saw of records, in log order. `place`: the number of their topic and queue. `key_row`: the record of each key."""

    position: Ints
    size: Ints
    time: Ints
    queue_offset: Ints
    flags: Ints
    place: Narrow
    opaque: Mask
    keyless: Mask
    key_row: Ints
    key: Narrow


_WIDE, _NARROW = np.empty(0, np.int64), np.empty(0, np.int32)
NOTHING = Seen(_WIDE, _NARROW, _WIDE, _WIDE, _NARROW, _NARROW, np.empty(0, np.bool_), np.empty(0, np.bool_), _WIDE, _NARROW)


class Tables(NamedTuple):
    """The tables of a part. `others`: those besides the groups, by the name of their file."""

    groups: pa.Table
    others: Mapping[str, pa.Table]


def tables_of(seen: Seen, places: Sequence[Place], texts: Mapping[str, TextCodes]) -> Tables:
    """The tables of a segment. `places`: topic and queue id by number. `texts`: by column."""
    order = order_of(seen.place)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    records = [column[order] for column in (seen.position, seen.size, seen.time, seen.queue_offset, seen.flags)]
    by_hash = order_of(seen.key)
    keys = [seen.key[by_hash], rank[seen.key_row[by_hash]]]
    others = {"records": pa.table(records, schema=RECORDS), "keys": pa.table(keys, schema=OF_KEYS)}
    if texts:
        others["texts"] = pa.table([codes.column(order) for codes in texts.values()], list(texts))
    return Tables(_groups(seen, order, places), others)


def _groups(seen: Seen, order: Index, places: Sequence[Place]) -> pa.Table:
    counts = np.bincount(seen.place, minlength=len(places))
    present = np.flatnonzero(counts)
    firsts = (np.cumsum(counts) - counts)[present]
    columns = [array([places[place][0] for place in present.tolist()], pa.binary())]
    columns += [np.array([places[place][1] for place in present.tolist()], np.int64), counts[present]]
    columns += [_reduced(np.add, values[order].astype(np.int64), firsts) for values in (seen.size, seen.opaque, seen.keyless)]
    for values in (seen.time, seen.queue_offset):
        columns += [_reduced(each, values[order], firsts) for each in (np.minimum, np.maximum)]
    return pa.table(columns, schema=GROUPS)


def _reduced(function: np.ufunc, values: Ints, firsts: Index) -> Ints:
    reduced: Ints = function.reduceat(values, firsts) if len(firsts) else values
    return reduced


def write_groups(groups: pa.Table, facts: Facts, sink: object) -> None:
    """Write the file of groups."""
    pq.write_table(groups.replace_schema_metadata({FACTS: facts.to_json()}), sink, compression="zstd")


def encoded(table: pa.Table) -> pa.Buffer:
    """A Parquet file. Numbers are stored as small differences, texts as numbers of a list: few texts are different.

    Readers get plain texts: Arrow's own schema, which says that they are encoded, is left out.
    """
    is_text = any(map(pa.types.is_dictionary, table.schema.types))
    encoding = None if is_text else dict.fromkeys(table.column_names, "DELTA_BINARY_PACKED")
    how: dict[str, Any] = {"compression": "zstd", "use_dictionary": is_text, "column_encoding": encoding, "store_schema": not is_text}
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=KEYS_AT_ONCE if table.schema == OF_KEYS else ROWS_AT_ONCE, **how)
    return sink.getvalue()
