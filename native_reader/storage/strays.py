"""Strays: files beside segments whose names look like compressed or renamed segments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote

from native_reader.storage.local import local_path
from native_reader.storage.protocol import DirEntry, scheme_of

KEPT = 8
"""A store keeps this many names at most."""
DIGITS = 20
"""So many begin the name of a segment, and of a stray."""
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
    """The names of the strays in one directory, as printable text; ignores empty files."""
    names = [entry.name for entry in entries if len(entry.name) > DIGITS and entry.is_file and entry.size and is_stray(entry.name)]
    return [name.encode("utf-8", "backslashreplace").decode() for name in names]


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


def how_to_restore(name: str) -> str:
    """How to turn a stray into a segment."""
    command = unpack_command(name)
    return f"unpack it first: {command}" if command else f"if it is a segment, rename it first: {rename_command(name)}"


def only_strays(directory: str, names: Sequence[str]) -> str:
    """The error text for a log directory that contains only strays."""
    more = f" and {len(names) - KEPT} more" if len(names) > KEPT else ""
    return f"{directory}: no segments found, only {', '.join(names[:KEPT])}{more}. For each of these files: {how_to_restore(names[0])}"
