"""A Parquet file of a part of a summary, and why it cannot be used.

Only what is needed is read: each row group has its own checksum, and so has the footer.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.arrow import array, numpy_of
from native_reader.layout.record import Numbers
from native_reader.storage.protocol import storage_of

ROWS_AT_ONCE = 1 << 14
"""The rows of a row group: the least that is read."""
KEYS_AT_ONCE = 1 << 12
"""The same for keys: most reads want only one."""
_MOST_KEPT = 32
_LEAST, _MOST = -(2**63), 2**63 - 1


def parquet() -> Any:
    """pyarrow's reader of Parquet. Its import takes long, and most reads have no summary."""
    import pyarrow.parquet

    return pyarrow.parquet


class PieceSums(NamedTuple):
    """What is in a file. `starts`: where its pieces start, and `checksums`: their CRC-32. The last piece is the footer."""

    size: int
    starts: tuple[int, ...]
    checksums: tuple[int, ...]

    @staticmethod
    def of(encoded: bytes | pa.Buffer) -> PieceSums:
        """That of a whole file."""
        metadata = parquet().ParquetFile(pa.BufferReader(encoded)).metadata
        starts = (0, *(_end(metadata, group) for group in range(metadata.num_row_groups)))
        view = memoryview(encoded)
        return PieceSums(len(encoded), starts, tuple(zlib.crc32(view[start:stop]) for start, stop in pairwise((*starts, len(encoded)))))

    @staticmethod
    def from_json(given: Sequence[Any]) -> PieceSums:
        """What JSON made of it. Raises TypeError or ValueError if it cannot be that of a file."""
        size, starts, checksums = int(given[0]), tuple(map(int, given[1])), tuple(map(int, given[2]))
        if not starts or starts[0] != 0 or list(starts) != sorted(starts) or starts[-1] > size or len(starts) != len(checksums):
            raise ValueError
        return PieceSums(size, starts, checksums)


def _end(metadata: Any, group: int) -> int:
    """Where a row group ends, and the next one or the footer starts. The bytes before the first row group belong to it."""
    columns = [metadata.row_group(group).column(column) for column in range(metadata.num_columns)]
    return max(_begin(column) + int(column.total_compressed_size) for column in columns)


def _begin(column: Any) -> int:
    return int(min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset))


class Pieces:
    """An open file. Raises Unfit for a piece whose checksum is wrong."""

    def __init__(self, uri: str, content: PieceSums, schema: pa.Schema) -> None:
        self._uri, self._content = uri, content
        # Pages that are never written to take no memory.
        self._bytes, self._loaded = np.zeros(content.size, np.uint8), set[int]()
        texts = [field.name for field in schema if field.type == pa.string()]
        source = pa.BufferReader(pa.py_buffer(self._bytes))
        self._file = parquet().ParquetFile(source, metadata=_metadata(uri, content, schema), read_dictionary=texts)

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return int(self._file.metadata.num_rows)

    def check(self) -> None:
        """Raise Unfit unless all pieces are right."""
        self._load(range(len(self._content.starts)))

    def taken(self, rows: Numbers, columns: Sequence[str]) -> list[Numbers]:
        """Columns of numbers of these rows, which ascend."""
        table, places = self._with(rows, columns)
        return [numpy_of(table[name])[places] for name in columns]

    def texts(self, rows: Numbers, columns: Sequence[str]) -> list[pa.Array]:
        """Columns of texts of these rows, which ascend; dictionary-encoded."""
        table, places = self._with(rows, columns)
        found = [table[name].unify_dictionaries().combine_chunks() for name in columns]
        for each in found:
            each.dictionary.validate(full=True)
        return [each.take(array(places)) for each in found]

    def _with(self, rows: Numbers, columns: Sequence[str]) -> tuple[pa.Table, Numbers]:
        """The row groups that have these rows, and where in them the rows are."""
        groups = rows // ROWS_AT_ONCE
        needed = groups[np.diff(groups, prepend=-1) > 0]
        if not len(rows) or rows[0] < 0 or rows[-1] >= self.rows:
            raise Unfit("contradiction")
        table = self._read(needed.tolist(), list(columns))
        places = np.searchsorted(needed, groups) * ROWS_AT_ONCE + rows % ROWS_AT_ONCE
        if len(table) <= int(places[-1]):
            raise Unfit("contradiction")
        return table, places

    def near(self, column: str, wanted: Numbers) -> Mapping[str, Numbers]:
        """All columns of the row groups that may have one of these values, which ascend, in a column by which the rows are sorted."""
        metadata, at = self._file.metadata, self._file.schema_arrow.get_field_index(column)

        def bounds(group: int) -> tuple[int, int]:
            known = metadata.row_group(group).column(at).statistics
            return (known.min, known.max) if known is not None else (_LEAST, _MOST)

        groups, every = list[int](), range(metadata.num_row_groups)
        for value in wanted.tolist():  # few
            for group in every[bisect_left(every, value, key=lambda group: bounds(group)[1]) :]:
                if bounds(group)[0] > value:
                    break
                groups.append(group)
        groups = sorted(set(groups))
        table = self._read(groups, self._file.schema_arrow.names)
        return {name: numpy_of(table[name]) for name in table.column_names}

    def _read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        self._load(groups)
        if any(_end(self._file.metadata, group) != self._content.starts[group + 1] for group in groups):
            raise Unfit("contradiction")
        return self._file.read_row_groups(list(groups), columns=list(columns), use_threads=False)

    def _load(self, pieces: Sequence[int]) -> None:
        """Read these pieces, neighbours together."""
        missing = [piece for piece in pieces if piece not in self._loaded]
        for start, found in _fetched(self._uri, self._content, missing):
            self._bytes[start : start + len(found)] = np.frombuffer(found, np.uint8)
        self._loaded |= set(missing)


@lru_cache(_MOST_KEPT)
def _metadata(uri: str, content: PieceSums, schema: pa.Schema) -> Any:
    """The footer of a file, which must have this schema. Equal checksums are equal footers, so it is read once."""
    footer = len(content.starts) - 1
    ((_, found),) = _fetched(uri, content, [footer])
    metadata = parquet().read_metadata(pa.BufferReader(found))
    if metadata.schema.to_arrow_schema().remove_metadata() != schema or metadata.num_row_groups != footer:
        raise Unfit("contradiction")
    return metadata


def _fetched(uri: str, content: PieceSums, pieces: Sequence[int]) -> list[tuple[int, bytes]]:
    """Where neighbouring pieces start, and their bytes."""
    edges, known = (*content.starts, content.size), set(pieces)
    firsts = [piece for piece in pieces if piece - 1 not in known]
    lasts = [piece for piece in pieces if piece + 1 not in known]
    ranges = [(edges[first], edges[last + 1] - edges[first]) for first, last in zip(firsts, lasts, strict=True)]
    with storage_of(uri).open(uri) as file:
        if file.size() != content.size:
            raise Unfit("damaged part")
        found = file.read_ranges(ranges)
    for first, last, each in zip(firsts, lasts, found, strict=True):
        view = memoryview(each)
        for piece in range(first, last + 1):
            own = view[edges[piece] - edges[first] : edges[piece + 1] - edges[first]]
            if len(own) != edges[piece + 1] - edges[piece] or zlib.crc32(own) != content.checksums[piece]:
                raise Unfit("damaged part")
    return [(edges[first], each) for first, each in zip(firsts, found, strict=True)]


UNFIT = (
    "no part",
    "other version",
    "damaged part",
    "unreadable part",
    "contradiction",
    "other segment",
    "changed",
    "damage",
    "many",
    "large",
)
"""Why a segment is not read by its part. What each means: the sentence `unfit` and its name."""


class Unfit(Exception):
    """A part that is not used. `why`: one of UNFIT."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@contextmanager
def reading_part() -> Iterator[None]:
    """Make errors of reading a part Unfit."""
    try:
        yield
    except (pa.ArrowException, KeyError, OverflowError):
        raise Unfit("contradiction") from None
    except OSError:
        raise Unfit("unreadable part") from None
