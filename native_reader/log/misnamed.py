"""Files of a log under wrong names: the records in them say where they belong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from native_reader.layout.record import MAGIC_V1, MAGIC_V2, SMALLEST_RECORD, UP_TO_OFFSET
from native_reader.storage.packed import is_readable
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import PLAIN, Segment, StoreFiles, is_live
from native_reader.storage.strays import offset_in, unpack_command

_LOOKED_AT = 8
"""Records at the beginning of a file. If they agree, its name is wrong, and not they."""


class RightNames(NamedTuple):
    """A store whose files have the offsets that their records say. `misnamed`: the files that are read so."""

    files: StoreFiles
    misnamed: frozenset[str] = frozenset()


def under_right_names(files: StoreFiles) -> RightNames:
    """Read each file as what it is: two files with each other's names, a renamed one, and one with more than its name.

    A file gets another offset only if its first records say so. If two files would be in one place, none does.
    """
    if is_live(files.uri):  # a running broker renames files that it reuses
        return RightNames(files)
    said = {segment: _said_by_records(segment) for segment in files.segments}
    moved = [replace(segment, base=place) for segment, place in said.items() if place not in (None, segment.base)]
    found = [*moved, *(stray for stray in _strays(files) if _said_by_records(stray, is_stray=True) == stray.base)]
    segments = sorted([*(segment for segment, place in said.items() if place in (None, segment.base)), *found])
    if not found or any(one.end > other.base for one, other in pairwise(segments)):  # then names are not worse than what records say
        return RightNames(files)
    names = {segment.uri.rpartition("/")[2] for segment in found}
    left = tuple(name for name in files.strays if name not in names)
    return RightNames(replace(files, segments=tuple(segments), strays=left), frozenset(each.uri for each in found))


def _strays(files: StoreFiles) -> Iterator[Segment]:
    """Files with the name of a segment and a suffix that no program packs with."""
    directories = dict.fromkeys(segment.directory for segment in files.segments if segment.framing == PLAIN)
    for name in files.strays:
        if unpack_command(name) is not None or is_readable(name):
            continue
        for directory in directories:
            uri = f"{directory}/{storage_of(directory).quoted(name)}"
            with suppress(OSError):
                entry = storage_of(uri).entry(uri)
                if entry is not None and entry.is_file and entry.size:
                    yield Segment(offset_in(name), entry.size, uri, entry.identity)


def _said_by_records(segment: Segment, *, is_stray: bool = False) -> int | None:
    """Where the first records of a file say that it begins; None if they do not agree, or there is none.

    If the first one of a segment is where its name says, no other can move it, and none is read. A stray needs them all.
    """
    if segment.framing != PLAIN or segment.is_packed:
        return None
    at, base, count = 0, None, 0
    with suppress(OSError), storage_of(segment.uri).open(segment.uri) as file:
        while count < _LOOKED_AT and at < segment.size:
            heads = file.read_array(at, UP_TO_OFFSET, 1)
            if not len(heads) or heads["magic"][0] not in (MAGIC_V1, MAGIC_V2) or heads["size"][0] < SMALLEST_RECORD:
                break
            said = int(heads["offset"][0]) - at
            if said < 0 or base not in (None, said):
                return None
            if said == segment.base and not is_stray:
                return said
            at, base, count = at + int(heads["size"][0]), said, count + 1
    # A single record can be damaged itself.
    return base if count > 1 else None
