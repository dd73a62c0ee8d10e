"""From the paths that a user gives to the files and directories there."""

from __future__ import annotations

import fnmatch
import re
from typing import Any, NamedTuple

from native_reader.errors import OptionError, PathError, UnreadableError
from native_reader.storage.local import local_uri, text_of
from native_reader.storage.misses import not_there
from native_reader.storage.protocol import DirEntry, scheme_of, storage_of
from native_reader.storage.tar import TAR, entered, is_archive

_WILD = re.compile(r"[*?\[]")


class Place(NamedTuple):
    """A URI and what is there."""

    uri: str
    entry: DirEntry


def uri_of(path: Any) -> str:
    """The absolute URI of a path, without a trailing slash."""
    text = text_of(path)
    if not text:
        raise OptionError("the path is empty. Use '.' for the current directory")
    text = text.removeprefix(TAR) if (scheme_of(text) or "").startswith(TAR) else text
    return entered(local_uri(text) if scheme_of(text) in (None, "file") else text.rstrip("/"))


def places_of(path: Any, must_exist: bool = True) -> list[Place]:
    """The places that match a path with `*`, `?` or `[...]`; the path itself if it exists or has no wildcard."""
    uri = uri_of(path)
    entry = entry_at(uri)
    if entry is not None:
        return [Place(uri, entry)]
    if _WILD.search(storage_of(uri).unquoted(uri)):
        places = _matches(uri)
        if not places:
            raise PathError(f"{uri}: no file or directory matches")
        return places
    if must_exist:
        raise _missing(uri)
    return [Place(uri, DirEntry("", 0, 0, False, False))]


def _missing(uri: str) -> PathError:
    parent, _, name = uri.rpartition("/")
    while parent.count("/") > 2 and entry_at(parent) is None:
        parent, _, name = parent.rpartition("/")
    return PathError(not_there(uri, parent, name, [entry.name for entry in list_if_possible(parent)]))


def _matches(uri: str) -> list[Place]:
    storage = storage_of(uri)
    scheme, _, rest = uri.partition("://")
    first, *parts = rest.split("/")
    matches: list[tuple[str, DirEntry | None]] = [(f"{scheme}://{first}", None)]
    for part in parts:
        name = storage.unquoted(part)
        if _WILD.search(name):
            entries = [(base, each) for base, _ in matches for each in list_if_possible(base) if fits(each.name, name)]
            matches = [(f"{base}/{storage.quoted(each.name)}", each) for base, each in entries]
        else:
            matches = [(f"{base}/{part}", None) for base, _ in matches]
        if is_archive(name):  # not with `*`: next to a store is often an archive of it
            matches = [_into_archive(*match) for match in matches]
    return [Place(each, known) for each, entry in matches if (known := entry or entry_at(each)) is not None]


def _into_archive(uri: str, entry: DirEntry | None) -> tuple[str, DirEntry | None]:
    inside = entered(uri)
    return inside, entry if inside == uri else None


def fits(name: str, pattern: str) -> bool:
    """Match as a shell does: hidden files need a pattern that starts with a dot. A name that contains `[` also matches itself."""
    return name == pattern or (fnmatch.fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] == "."))


def entry_at(uri: str) -> DirEntry | None:
    """The entry at that URI; None if there is none."""
    return storage_of(uri).entry(uri)


def list_if_possible(uri: str) -> list[DirEntry]:
    """The entries of a directory that the user did not name; empty if it cannot be read or is not a directory."""
    try:
        return storage_of(uri).list(uri)
    except (FileNotFoundError, NotADirectoryError, UnreadableError):
        return []
