"""A part of a summary: where one full segment has the records of each topic and queue, and of each key.

It is some Parquet files. `groups` is small, so plans read it: it names the segment and the others, and has its own checksum in its
name. The rows of `records` are sorted by group, those of `keys` by hash. `texts` has the same rows as `records`; a part without texts
lacks it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.arrow import numpy_of
from native_reader.layout.arrays import is_among
from native_reader.layout.record import Index, Numbers
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment
from native_reader.summary.pieces import Pieces, PieceSums, Unfit, parquet
from native_reader.summary.texts import TEXTS

RECORDS = pa.schema([(name, pa.int64()) for name in ("position", "size", "time", "queue_offset", "flags")])
KEYS = pa.schema([(name, pa.int64()) for name in ("hash", "row")])


def schema_of_texts(names: Iterable[str]) -> pa.Schema:
    """The schema of a file with these texts."""
    return pa.schema([(name, pa.string()) for name in names])


NAME = re.compile(r"([0-9]{20})-([0-9a-f]{8})\.groups\.parquet")
FACTS = b"rmqstore.summary"
VERSION = 3
_MOST_GROUPS = 64 << 20
_MOST_END = 1 << 20
_SMALL, _MOST_SMALL, _MOST_LARGE = 16 << 10, 1024, 64
"""How many files of groups are kept: those up to that size, as of a terabyte in segments of a broker's default size, and others."""


class End(NamedTuple):
    """The first or the last bytes of a segment that have a checksum: of its first and its last record."""

    position: int
    size: int
    checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a part says of its segment as a whole. `has_damage`: it has no groups, and the segment is read without it.

    `texts`: those of TEXTS that it has.
    """

    version: int
    segment: str
    size: int
    identity: int
    framing: str
    written: int
    has_damage: bool
    records: int
    record_bytes: int
    blank_bytes: int
    largest: int
    ends: tuple[End, ...]
    texts: tuple[str, ...]
    files: Mapping[str, PieceSums]

    def to_json(self) -> bytes:
        """As the file of groups has it."""
        return json.dumps({each.name: getattr(self, each.name) for each in fields(self)}).encode()

    @staticmethod
    def from_json(text: bytes) -> Facts:
        """What `to_json` made. Raises KeyError, TypeError or ValueError for anything else."""
        given = json.loads(text)
        if given["version"] != VERSION:
            raise Unfit("other version")
        ends = tuple(End(*map(int, each)) for each in given.pop("ends"))
        files = {name: PieceSums.from_json(each) for name, each in given.pop("files").items()}
        texts = tuple(name for name in given.pop("texts") if name in TEXTS)
        return Facts(**given, ends=ends, texts=texts, files=files)


@dataclass(frozen=True, slots=True)
class Part:
    """A part whose groups were read and are right. `uri`: of its files, without the ends of their names."""

    uri: str
    facts: Facts
    groups: Groups

    def check_files(self) -> None:
        """Raise Unfit unless its other files are there and right."""
        for name in self.facts.files:
            self._opened(name).check()

    def records_at(self, rows: Numbers, *columns: str) -> list[Numbers]:
        """Columns of these rows of `records`, which ascend."""
        return self._opened("records").taken(rows, columns)

    def texts_at(self, rows: Numbers, *columns: str) -> list[pa.Array]:
        """Columns of these rows of `texts`, which ascend. Raises KeyError for one that it does not have."""
        return self._opened("texts").texts(rows, columns)

    def rows_with(self, hashes: Numbers) -> Numbers:
        """The rows of records with a key of such a hash, in order."""
        wanted = np.unique(hashes)
        near = self._opened("keys").near("hash", wanted)
        rows = np.unique(near["row"][is_among(near["hash"], wanted)])
        if len(rows) and not 0 <= rows[0] <= rows[-1] < self.facts.records:
            raise Unfit("contradiction")
        return rows

    def _opened(self, name: str) -> Pieces:
        schema = schema_of_texts(self.facts.texts) if name == "texts" else {"records": RECORDS, "keys": KEYS}[name]
        return Pieces(f"{self.uri}.{name}.parquet", self.facts.files[name], schema)


def read_part(uri: str, segment: Segment) -> Part:
    """The part at the URI of its file of groups. Raises Unfit unless it is whole and fits the segment as it is on the disk."""
    found = NAME.fullmatch(uri.rpartition("/")[2])
    if found is None:
        raise Unfit("other segment")
    try:
        return _fitting(_part(uri, int(found[2], 16), segment), segment)
    except (pa.ArrowException, KeyError, TypeError, ValueError):
        raise Unfit("contradiction") from None
    except OSError:
        raise Unfit("unreadable part") from None


def _part(uri: str, checksum: int, segment: Segment) -> Part:
    with storage_of(uri).open(uri) as file:
        groups_of = _small_groups if file.size() <= _SMALL else _large_groups
        facts, groups = groups_of(uri, checksum, file.size(), file.identity(), file.written())
    if len(groups) > max(0, facts.records) or max(content.size for content in facts.files.values()) > max(segment.size, _MOST_END):
        raise Unfit("contradiction")
    return Part(uri.removesuffix(".groups.parquet"), facts, groups)


def _groups(uri: str, checksum: int, *stamp: int) -> tuple[Facts, Groups]:
    """A file of groups: a plan needs it, and then the read. `stamp`: what changes with the file."""
    with storage_of(uri).open(uri) as opened:
        if (size := opened.size()) > _MOST_GROUPS:
            raise Unfit("contradiction")
        (content,) = opened.read_ranges([(0, size)])
    if zlib.crc32(content) != checksum:
        raise Unfit("damaged part")
    file = parquet().ParquetFile(pa.BufferReader(content))
    if file.schema_arrow.remove_metadata() != GROUPS:
        raise Unfit("contradiction")
    facts = Facts.from_json((file.schema_arrow.metadata or {})[FACTS])
    return facts, Groups(file.read(use_threads=False))


_small_groups, _large_groups = (lru_cache(most)(_groups) for most in (_MOST_SMALL, _MOST_LARGE))


def _fitting(part: Part, segment: Segment) -> Part:
    facts = part.facts
    if (facts.segment, facts.size, facts.identity, facts.framing) != (segment.name, segment.size, segment.identity, segment.framing):
        raise Unfit("other segment")
    with storage_of(segment.uri).open(segment.uri) as file:
        if (
            file.size() != segment.size
            or file.written() != facts.written
            or any(end != end_at(file, end.position, end.size) for end in facts.ends)
        ):
            raise Unfit("changed")
    if facts.has_damage:
        raise Unfit("damage")
    counts = [int(np.sum(part.groups[name])) for name in ("records", "bytes")]
    whole = facts.record_bytes + facts.blank_bytes
    if counts != [facts.records, facts.record_bytes - segment.frame * facts.records] or whole != segment.size:
        raise Unfit("contradiction")
    return part


def end_at(file: Any, position: int, size: int) -> End:
    """The bytes of an open segment at one of its ends; of a large record only the first."""
    size = max(0, min(size, _MOST_END))
    (content,) = file.read_ranges([(max(0, position), size)])
    return End(position, size, zlib.crc32(content))


GROUPS = pa.schema(
    [
        ("topic", pa.binary()),
        *((name, pa.int64()) for name in ("queue_id", "records", "bytes", "opaque", "keyless")),
        *((name, pa.int64()) for name in ("first_time", "last_time", "first_queue_offset", "last_queue_offset")),
    ]
)
"""`bytes`: without frames. `opaque`: how many records have messages inside, or odd properties. `keyless`: of how many the keys may be
missing. Times are in milliseconds."""


class Groups:
    """What the table of groups says. `names`: the topics, each once, and `topics`: their numbers. Raises Unfit if a value is missing."""

    def __init__(self, table: pa.Table) -> None:
        if any(column.null_count for column in table.columns):
            raise Unfit("contradiction")
        encoded = table["topic"].combine_chunks().dictionary_encode()
        self.names: list[bytes] = encoded.dictionary.to_pylist()
        self.topics: Index = numpy_of(encoded.indices)
        self._columns: dict[str, Numbers] = {name: numpy_of(table[name]) for name in GROUPS.names[1:]}
        self.ends: Numbers = np.cumsum(self["records"])
        """After the last row of each."""

    def __len__(self) -> int:
        return len(self.topics)

    def __getitem__(self, name: str) -> Numbers:
        """A column of numbers."""
        return self._columns[name]

    def rows(self, which: Index, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The topic, the first row and these columns of some groups."""
        columns = (self.ends - self["records"], *(self[name] for name in names))
        topics = (self.names[topic] for topic in self.topics[which].tolist())
        return zip(topics, *(column[which].tolist() for column in columns), strict=True)
