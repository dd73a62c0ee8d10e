"""What a tar archive holds, by path: the directories, files and links that tar would make when it unpacks the archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from native_reader.errors import shown
from native_reader.sentences import say
from native_reader.storage.tar_headers import DIRECTORY, FILE, HARD_LINK, SYMBOLIC_LINK, Headers

_MOST_MEMBERS = 1_000_000
_MOST_LINKS = 40
"""As in Linux."""


class Entry(NamedTuple):
    """One name in an archive."""

    kind: str
    start: int = 0
    """Where the first header of the file begins; for a hard link, that of the file that it names."""
    size: int = 0
    name: str = ""
    """The path in that header."""
    target: str = ""
    """Of a symbolic link."""


def path_of(name: bytes, *, lossless: bool) -> str:
    """A name as tar unpacks it: below the directory where it runs, without what leads out of it.

    `lossless`: a name that is not UTF-8 keeps its bytes.
    """
    parts = [part for part in _decoded(name, lossless).split("/") if part not in ("", ".")]
    while ".." in parts:
        del parts[: parts.index("..") + 1]
    return "/".join(parts)


def _decoded(name: bytes, lossless: bool) -> str:
    return name.decode("utf-8", "surrogateescape" if lossless else "backslashreplace")


class Names:
    """The names in an archive."""

    def __init__(self, headers: Headers, *, lossless: bool = True) -> None:
        self._lossless = lossless
        self._entries = {"": Entry(DIRECTORY)}
        self._names: dict[str, set[str]] = {"": set()}
        """The names in each directory."""
        self._has_links = False
        for path, entry in self._read(headers):
            self._entries[path] = entry  # of several members with one name, the last one counts
        for path in list(self._entries):
            self._add(path, headers)

    def _read(self, headers: Headers) -> Iterator[tuple[str, Entry]]:
        for number, member in enumerate(headers.members()):
            if number == _MOST_MEMBERS:
                headers.fail(member.start, say("many members", most=_MOST_MEMBERS))
            path, kind = path_of(member.name, lossless=self._lossless), member.kind
            if not path:  # the directory that was packed
                continue
            if kind == HARD_LINK:
                linked = self._entries.get(path_of(member.target, lossless=self._lossless))
                if linked is None or linked.kind == DIRECTORY:
                    headers.fail(member.start, say("link forward", path=shown(path), target=shown(member.target)))
                yield path, linked
            elif kind == SYMBOLIC_LINK:
                self._has_links = True
                yield path, Entry(kind, member.start, 0, path, _decoded(member.target, self._lossless))
            else:
                yield path, Entry(kind, member.start, member.size if kind == FILE else 0, path)

    def _add(self, path: str, headers: Headers) -> None:
        """Add a path to its directory, and that one to its own. Not all archives have members for directories."""
        if self._entries[path].kind == DIRECTORY:
            self._names.setdefault(path, set())
        while path:
            parent, _, name = path.rpartition("/")
            has_parent = parent in self._names
            self._names.setdefault(parent, set()).add(name)
            entry = self._entries.setdefault(parent, Entry(DIRECTORY))
            if entry.kind != DIRECTORY:
                headers.fail(self._entries[path].start, say("below no directory", path=shown(parent), kind_of_file=str(entry.kind)))
            if has_parent:
                break
            path = parent

    def resolved(self, path: str) -> str | None:
        """That path without symbolic links; None if it does not exist. Absolute links begin at the top of the archive."""
        if not self._has_links:
            return path if path in self._entries else None
        parts, here = path.split("/")[::-1], ""
        links = 0
        while parts:
            part = parts.pop()
            if part == "..":
                here = here.rpartition("/")[0]
            elif part not in ("", "."):
                there = f"{here}/{part}" if here else part
                entry = self._entries.get(there)
                if entry is None:
                    return None
                if entry.kind != SYMBOLIC_LINK:
                    here = there
                    continue
                links += 1
                if links > _MOST_LINKS:
                    return None
                here = "" if entry.target.startswith("/") else here
                parts += entry.target.split("/")[::-1]
        return here

    def links(self, path: str) -> int:
        """The number of symbolic links on a path."""
        parts = path.split("/")
        paths = ("/".join(parts[: end + 1]) for end in range(len(parts)))
        return sum(self._entries.get(path, _NOTHING).kind == SYMBOLIC_LINK for path in paths)

    def entry(self, path: str) -> Entry | None:
        """What is at that path, after symbolic links."""
        there = self.resolved(path)
        return None if there is None else self._entries[there]

    def target(self, path: str) -> str | None:
        """The target of the symbolic link of that name; None if it is none."""
        entry = self._entries.get(path, _NOTHING)
        return entry.target if entry.kind == SYMBOLIC_LINK else None

    def in_directory(self, path: str) -> set[str] | None:
        """The names in a directory; None if there is none of that path."""
        there = self.resolved(path)
        return None if there is None else self._names.get(there)

    def directories(self) -> list[str]:
        """The paths of all directories, sorted."""
        return sorted(self._names)


_NOTHING = Entry("")
