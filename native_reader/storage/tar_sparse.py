"""Sparse files in a tar archive: the map of their parts. All other bytes of the file are zeros, and not in the archive."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.storage.tar_headers import BLOCK, MOST_MAP, SPARSE_GNU, SPARSE_INSIDE, Headers, Member, next_block

_GNU_ENTRY = 24
_FIRST_LINE = re.compile(rb"([0-9]{1,8})\n")
_LINE = re.compile(rb"[0-9]{1,18}")
_NUMBERS = re.compile(rb"[0-9]{1,18}(?:,[0-9]{1,18})*")
_INVALID = "the map of a sparse file is invalid"


class StoredParts(NamedTuple):
    """The parts of a file that are in the archive, in order."""

    starts: NDArray[np.int64]
    """Where each begins in the file."""
    stops: NDArray[np.int64]
    places: NDArray[np.int64]
    """Where each begins in the archive."""


def extents_of(member: Member, headers: Headers) -> StoredParts:
    """The parts of a file; one for a file that is not sparse."""
    if member.sparse is None:
        return _checked(member, headers, [0, member.size], 0)
    if member.sparse == SPARSE_INSIDE:
        numbers, skipped = _map_inside(member, headers)
        return _checked(member, headers, numbers, skipped)
    return _checked(member, headers, (_map_of_gnu if member.sparse == SPARSE_GNU else _map_listed)(member, headers), 0)


def _map_of_gnu(member: Member, headers: Headers) -> list[int]:
    """Two numbers of 12 bytes for each part, offset and length; empty fields end the map."""
    numbers: list[int] = []
    for at in range(0, len(member.map), _GNU_ENTRY):
        entry = member.map[at : at + _GNU_ENTRY]
        if not any(entry):
            break
        numbers += (headers.number(member.start, field, "map of a sparse file") for field in (entry[:12], entry[12:]))
    return numbers


def _map_listed(member: Member, headers: Headers) -> list[int]:
    if member.map and not _NUMBERS.fullmatch(member.map):
        headers.fail(member.start, _INVALID)
    return [int(part) for part in member.map.split(b",") if part]


def _map_inside(member: Member, headers: Headers) -> tuple[list[int], int]:
    """Lines of digits before the content, padded to whole blocks: how many parts, then offset and length of each."""
    content = headers.read(member.place, min(BLOCK, member.stored))
    first = _FIRST_LINE.match(content)
    wanted = 1 + 2 * int(first[1]) if first else 0
    while first and content.count(b"\n") < wanted and (room := min(member.stored, MOST_MAP) - len(content)) > 0:
        content += headers.read(member.place + len(content), min(len(content), room))
    *lines, rest = content.split(b"\n", wanted)
    if len(lines) != wanted or not first or not all(map(_LINE.fullmatch, lines)):
        headers.fail(member.place, _INVALID)
    return [int(line) for line in lines[1:]], next_block(len(content) - len(rest))


def _checked(member: Member, headers: Headers, numbers: list[int], skipped: int) -> StoredParts:
    """The extents, if they are in order, inside the file, and as long as the content."""
    is_valid = len(numbers) % 2 == 0 and max(numbers, default=0) < 1 << 62
    pairs: NDArray[Any] = np.array(numbers if is_valid else [], np.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 1] > 0]
    starts, lengths = pairs[:, 0], pairs[:, 1]
    stops = starts + lengths
    is_valid = is_valid and not (starts[1:] < stops[:-1]).any() and not (stops > member.size).any()
    if not is_valid or int(lengths.sum()) != member.stored - skipped:
        headers.fail(member.start, "the map of a sparse file does not match its size")
    return StoredParts(starts, stops, member.place + skipped + np.cumsum(lengths) - lengths)
