"""Segments under a wrong name: each record says at which offset of the log it is, so it also says what the name of its file is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from native_reader.layout.record import MAGIC_V1, MAGIC_V2, SMALLEST_RECORD, UP_TO_OFFSET
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import PLAIN, Segment, StoreFiles

_LOOKED_AT = 8
"""Records at the beginning of a file. If they agree, its name is wrong, and not they."""


def rightly_named(files: StoreFiles) -> StoreFiles:
    """The same files, each at the offset that its records say, if no other file is there. Their URIs stay."""
    if any(each.is_packed or each.framing != PLAIN for each in files.segments):
        return files
    said = {each.base: _said_base(each) for each in files.segments}
    own = {base for base, right in said.items() if right in (None, base)}
    moved = {base: right for base, right in said.items() if right is not None and right != base and right not in own}
    if not moved or len(set(moved.values())) < len(moved):
        return files
    return replace(files, segments=tuple(sorted(replace(each, base=moved.get(each.base, each.base)) for each in files.segments)))


def as_named(files: StoreFiles) -> StoreFiles:
    """The same files, each at the offset of its name, as a broker reads them."""
    return replace(files, segments=tuple(sorted(replace(each, base=int(each.name)) for each in files.segments)))


def renamed_in(files: StoreFiles) -> Mapping[str, str]:
    """The right name of each segment whose name is wrong."""
    return {each.name: f"{each.base:020d}" for each in files.segments if not each.is_packed and int(each.name) != each.base}


def _said_base(segment: Segment) -> int | None:
    """Where the first records of a file say that it begins; None if they do not agree, or there is none."""
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
