"""Files of a log under wrong names: the records in them say where they belong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
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


def under_right_names(files: StoreFiles, *, with_suffix: bool = True) -> RightNames:
    """Read each file as what it is: two files with each other's names, a renamed one, and, `with_suffix`, one with more than its name.

    A file gets another offset only if its first records say so, and no other file is there.
    """
    if is_live(files.uri):  # a running broker renames files that it reuses
        return RightNames(files)
    held, moved = list[Segment](), list[Segment]()
    for segment in files.segments:
        place = _said_by_records(segment)
        if place is None or place == segment.base:
            held.append(segment)
        else:
            moved.append(replace(segment, base=place))
    strays = [stray for stray in _strays(files) if _said_by_records(stray) == stray.base] if with_suffix else []
    taken = {segment.base for segment in held}
    found = list[Segment]()
    for segment in (*moved, *strays):
        if segment.base not in taken and not any(_overlap(segment, other) for other in (*held, *found)):
            taken.add(segment.base)
            found.append(segment)
    if len(found) < len(moved) + len(strays):  # two files say the same: neither is believed
        kept = {segment.uri for segment in found}
        held += [segment for segment in files.segments if segment.uri not in kept and segment not in held]
        held = [segment for segment in held if not any(_overlap(segment, other) for other in found)]
    if not found:
        return RightNames(files)
    names = {segment.uri.rpartition("/")[2] for segment in found}
    left = tuple(name for name in files.strays if name not in names)
    return RightNames(replace(files, segments=tuple(sorted([*held, *found])), strays=left), frozenset(each.uri for each in found))


def _overlap(one: Segment, other: Segment) -> bool:
    return one.base < other.end and other.base < one.end


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


def _said_by_records(segment: Segment) -> int | None:
    """Where the first records of a file say that it begins; None if they do not agree, or there is none."""
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
            at, base, count = at + int(heads["size"][0]), said, count + 1
    # A single record can be damaged itself.
    return base if count > 1 else None
