"""Strays: files beside segments that look like segments which were packed, or renamed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote

from native_reader.storage.protocol import Entry

KEPT = 8
"""A store remembers so many."""
_DIGITS = 20
_STRAY = re.compile("[0-9]{20}[^0-9].*", re.DOTALL)
_UNPACKED_WITH = {
    **dict.fromkeys((".tar", ".tar.xz", ".tar.bz2", ".tar.zst"), "tar -xf"),
    **dict.fromkeys((".tgz", ".tar.gz"), "tar -xzf"),
    ".gz": "gunzip",
    ".xz": "unxz",
    ".bz2": "bunzip2",
    ".zst": "zstd -d",
    ".lz4": "lz4 -d",
    ".zip": "unzip",
    ".7z": "7z x",
}
_LONGEST_FIRST = sorted(_UNPACKED_WITH, key=len, reverse=True)


def is_stray(name: str) -> bool:
    """Whether a name is that of a segment with something behind it."""
    return _STRAY.fullmatch(name) is not None


def strays_in(entries: Iterable[Entry]) -> list[str]:
    """The names of the strays among the entries of one directory, as text that can be printed; an empty file is none."""
    names = [entry.name for entry in entries if len(entry.name) > _DIGITS and entry.is_file and entry.size and is_stray(entry.name)]
    return [name.encode("utf-8", "backslashreplace").decode() for name in names]


def unpacked_by(name: str) -> str | None:
    """The command that unpacks a file of that name; None where the name does not tell that it is packed."""
    ending = next((each for each in _LONGEST_FIRST if name.lower().endswith(each)), None)
    return None if ending is None else f"{_UNPACKED_WITH[ending]} {quote(name)}"


def what_to_do(name: str) -> str:
    """How to make a segment of a stray."""
    command = unpacked_by(name)
    return f"unpack it first: {command}" if command else f"rename it first, if it is a segment: mv {quote(name)} {name[:_DIGITS]}"


def only_strays(directory: str, names: Sequence[str]) -> str:
    """What to say about a log of which nothing but strays is found."""
    more = f" and {len(names) - KEPT} more" if len(names) > KEPT else ""
    return f"{directory}: no segments found, only {', '.join(names[:KEPT])}{more}. For each of these files, {what_to_do(names[0])}"
