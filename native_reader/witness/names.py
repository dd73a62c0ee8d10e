"""Files beside the segments of a log: a segment that is missing can be there under another name, or be no file any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from native_reader.layout.one_record import Record
from native_reader.layout.record import HEAD_SIZE, SMALLEST_RECORD
from native_reader.sentences import Said
from native_reader.storage.local import names_in
from native_reader.storage.packed import rest_command
from native_reader.storage.paths import list_if_possible
from native_reader.storage.protocol import DirEntry, scheme_of, storage_of
from native_reader.storage.store import StoreFiles, is_segment_name
from native_reader.storage.strays import command_for, is_stray, offset_in, rename_command, unpack_command
from native_reader.witness.contradiction import NOT_FILES, Contradiction, contradiction
from native_reader.witness.segments import record_at

RENAMED, CUT = "renamed", "cut"
_MOST_OPENED = 64
"""Files of other names in a directory of the log that are looked into."""


def beside_the_segments(store: StoreFiles) -> Iterator[Contradiction]:
    """What is under the name of a segment and is no file, and segments under other names."""
    for directory in sorted({segment.directory for segment in store.segments}):
        entries = list_if_possible(directory)
        named = [entry for entry in entries if is_segment_name(entry.name)]
        for entry in named:
            if (why := _why_no_file(entry, is_last=entry is named[-1])) is not None:
                yield contradiction(NOT_FILES, "not a file", file=f"{directory}/{entry.name}", found=why)
        for name in _leading_nowhere(directory, entries):
            yield contradiction(NOT_FILES, "not a file", file=f"{directory}/{name}", found=Said("witness a dangling link"))
        for entry, found in _renamed(store, directory, entries):
            yield contradiction(NOT_FILES, found.kind, file=f"{directory}/{entry.name}", command=found.command)


def _leading_nowhere(directory: str, entries: Collection[DirEntry]) -> list[str]:
    """The names of segments that are links to what is not there: a list of a directory leaves them out."""
    if scheme_of(directory) != "file":
        return []
    return sorted(filter(is_segment_name, set(names_in(directory)) - {entry.name for entry in entries}))


def bases_of(store: StoreFiles) -> frozenset[int]:
    """The first offsets of the segments that a broker would find under their names."""
    return frozenset(segment.base for segment in store.segments if not segment.is_packed)


def _why_no_file(entry: DirEntry, *, is_last: bool) -> Said | None:
    if entry.is_directory:
        return Said("witness a folder")
    if not entry.is_file:
        return Said("witness no regular file")
    return None if entry.size or is_last else Said("witness an empty file")


class Restoring(NamedTuple):
    """How to make a file a segment again. `kind`: RENAMED, or CUT: then the command writes what is left of a packed one."""

    kind: str
    command: str


def _renamed(store: StoreFiles, directory: str, entries: Collection[DirEntry]) -> Iterator[tuple[DirEntry, Restoring]]:
    others = [entry for entry in entries if entry.is_file and entry.size and not is_segment_name(entry.name)]
    for entry in others[:_MOST_OPENED]:
        if (found := restoring(store, directory, entry, bases_of(store))) is not None:
            yield entry, found


def restoring(store: StoreFiles, directory: str, entry: DirEntry, known: Collection[int]) -> Restoring | None:
    """How to make a file a segment again which the log lacks; None if it is not one. `known`: what the log has."""
    uri, name = f"{directory}/{storage_of(directory).quoted(entry.name)}", entry.name
    if is_stray(name) and offset_in(name) in known:
        return None
    record = _first_record(uri, entry)
    if is_stray(name):
        if record is not None and record.physical_offset == offset_in(name):
            return Restoring(RENAMED, rename_command(name))
        if name in store.strays and (rest := rest_command(name)) is not None:
            return Restoring(CUT, rest)
        return Restoring(RENAMED, unpack_command(name) or rename_command(name))
    if record is None or record.physical_offset < 0 or record.physical_offset in known:
        return None
    return Restoring(RENAMED, command_for(uri, "mv") + f" {record.physical_offset:020}")


def _first_record(uri: str, entry: DirEntry) -> Record | None:
    if entry.size < SMALLEST_RECORD:
        return None
    try:
        with storage_of(uri).open(uri) as file:
            return record_at(file, 0, HEAD_SIZE)
    except OSError:
        return None
