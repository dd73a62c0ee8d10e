"""Strays: compressed or renamed segments beside the others, and what has the name of a segment but is not a regular file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote

from native_reader.sentences import Said, commas, say
from native_reader.storage.local import local_path
from native_reader.storage.protocol import DirEntry, scheme_of

KEPT = 8
"""A store keeps this many names at most."""
DIGITS = 20
"""So many begin the name of a segment, and of a stray."""
_SEGMENT = re.compile("[0-9]{20}")
_STRAY = re.compile("[0-9]{20}[^0-9].*", re.DOTALL)
_UNPACKED_WITH = {
    **dict.fromkeys((".tar", ".tar.xz", ".txz", ".tar.bz2", ".tbz", ".tbz2", ".tar.zst", ".tzst", ".tar.lzma", ".tar.Z"), "tar -xf"),
    **dict.fromkeys((".tgz", ".tar.gz"), "tar -xzf"),
    ".gz": "gunzip",
    ".xz": "unxz",
    ".bz2": "bunzip2",
    ".zst": "zstd -d",
    ".lz4": "lz4 -d",
    ".zip": "unzip",
    ".7z": "7z x",
    ".rar": "unrar x",
}
_LONGEST_FIRST = sorted(_UNPACKED_WITH, key=len, reverse=True)


def is_stray(name: str) -> bool:
    """Whether a name is a segment's name with a suffix."""
    return _STRAY.fullmatch(name) is not None


def offset_in(name: str) -> int:
    """The first offset of a segment, or of the segment that a stray was."""
    return int(name[:DIGITS])


def strays_in(entries: Iterable[DirEntry]) -> list[str]:
    """The names of the strays in one directory, as printable text; ignores empty files that are not named as packed ones."""
    names = [entry.name for entry in entries if len(entry.name) >= DIGITS and _is_stray_entry(entry)]
    return [name.encode("utf-8", "backslashreplace").decode() for name in names]


def _is_stray_entry(entry: DirEntry) -> bool:
    if is_blocked(entry.name):
        return not entry.is_file
    return entry.is_file and is_stray(entry.name) and (entry.size > 0 or unpack_command(entry.name) is not None)


def is_blocked(name: str) -> bool:
    """Whether a stray has exactly the name of a segment: a link that leads nowhere, a directory, a socket or a device."""
    return _SEGMENT.fullmatch(name) is not None


def unpack_command(name: str) -> str | None:
    """The command that unpacks a file of that name; None if its suffix is unknown."""
    ending = next((each for each in _LONGEST_FIRST if name.lower().endswith(each.lower())), None)
    return None if ending is None else f"{_UNPACKED_WITH[ending]} {quote(name)}"


def unpack_command_at(uri: str) -> str | None:
    """The same for a file at that URI: with its path if it is on this machine, otherwise with its name only."""
    return unpack_command(_in_a_shell(uri))


def command_for(uri: str, command: str) -> str:
    """That command, for a file at that URI."""
    return f"{command} {quote(_in_a_shell(uri))}"


def _in_a_shell(uri: str) -> str:
    path = local_path(uri) if scheme_of(uri) == "file" else uri.rpartition("/")[2]
    return path.encode("utf-8", "backslashreplace").decode()


def rename_command(name: str) -> str:
    """The command that gives a renamed segment its name again."""
    return f"mv {quote(name)} {name[:DIGITS]}"


def rename_to(uri: str, name: str) -> str:
    """The command that gives a file of a log its right name. Another file can have it still: `mv -n` overwrites none."""
    own = uri.rpartition("/")[2].encode("utf-8", "backslashreplace").decode()
    return f"mv -n {quote(own)} {name}"


def how_to_restore(name: str) -> Said:
    """How to turn a stray into a segment."""
    if is_blocked(name):
        return Said("restore not regular")
    command = unpack_command(name)
    return say("restore unpack", command=command) if command else say("restore rename", command=rename_command(name))


def only_strays(directory: str, names: Sequence[str]) -> Said:
    """What an error says for a log directory that contains only strays."""
    some = commas(names[:KEPT])
    some = say("and files more", names=some, more=len(names) - KEPT) if len(names) > KEPT else some
    return say("miss only strays", directory=directory, names=some, how=how_to_restore(names[0]))
