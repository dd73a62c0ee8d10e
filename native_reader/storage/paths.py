"""From the paths that a user gives to the files and directories there, and what is known of each of them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from native_reader.errors import OptionError, PathError, UnreadableError, without_secrets
from native_reader.sentences import Said, say
from native_reader.storage.local import local_uri, text_of
from native_reader.storage.misses import not_there
from native_reader.storage.protocol import DirEntry, Storage, map_stores, scheme_of, storage_of
from native_reader.storage.s3 import SCHEMES
from native_reader.storage.tar import TAR, entered, is_archive

_WILD = re.compile(r"[*?\[]")
_SIGNED = re.compile(r"[?&](?:x-amz-\w+|sig|signature|\w*token|\w*password|\w*secret|\w*access_?key)=", re.IGNORECASE)
"""A secret in the query of a URI, as in a signed link."""


@dataclass(frozen=True)
class Place:
    """A URI, its storage, and what is there: looked at when it is needed, and only once. `known`: its entry, if that is known already."""

    uri: str
    storage: Storage
    places: KnownPlaces
    known: DirEntry | None = None

    @cached_property
    def entry(self) -> DirEntry | None:
        """What is there; None if nothing is."""
        return self.known or self.storage.entry(self.uri)

    @property
    def is_file(self) -> bool:
        """Whether a file is there."""
        return self.entry is not None and self.entry.is_file

    @property
    def is_directory(self) -> bool:
        """Whether a directory is there."""
        return self.entry is not None and self.entry.is_directory

    @cached_property
    def entries(self) -> Sequence[DirEntry]:
        """The entries of a directory; raises an error if it cannot be listed."""
        return self.storage.list(self.uri)

    @cached_property
    def listing(self) -> Sequence[DirEntry]:
        """The entries of a directory that the user did not name; empty if it cannot be read or is not a directory."""
        try:
            return self.entries
        except (FileNotFoundError, NotADirectoryError, UnreadableError):
            return []

    def below(self, entry: DirEntry) -> Place:
        """The place of one of its entries."""
        return self.places.near(self, f"{self.uri}/{self.storage.quoted(entry.name)}", entry)


class KnownPlaces:
    """The places that one search for stores looks at. It keeps what is listed of stores and of what the user named, not of the rest."""

    def __init__(self) -> None:
        self._known: dict[str, Place] = {}
        self._asked = set[int]()
        """The storages that were told to look again, since this is a new search."""

    def at(self, uri: str, known: DirEntry | None = None) -> Place:
        """The place at that URI, the same one each time."""
        place = self._known.get(uri)
        if place is None:
            storage = storage_of(uri)
            if id(storage) not in self._asked:
                self._asked.add(id(storage))
                storage.look_again()
            place = self._known[uri] = Place(uri, storage, self, known)
        return place

    def near(self, other: Place, uri: str, known: DirEntry | None = None) -> Place:
        """The place at that URI in the storage of another place. It is not kept."""
        return self._known.get(uri) or Place(uri, other.storage, self, known)

    def keep(self, place: Place) -> Place:
        """From now on, that place is the one at its URI."""
        return self._known.setdefault(place.uri, place)

    def matching(self, path: Any, must_exist: bool = True) -> list[Place]:
        """The places that match a path with `*`, `?` or `[...]`; the path itself if it exists or has no wildcard."""
        place = self.at(uri_of(path))
        if place.entry is not None:
            return [place]
        if _WILD.search(place.storage.unquoted(place.uri)):
            found = self._matches(place)
            if not found:
                raise PathError(say("miss no match", uri=place.uri))
            return found
        if must_exist:
            raise self._missing(place.uri)
        return [place]

    def _missing(self, uri: str) -> PathError:
        parent, _, name = uri.rpartition("/")
        while parent.count("/") > 2 and self.at(parent).entry is None:
            parent, _, name = parent.rpartition("/")
        return not_there(uri, parent, name, [entry.name for entry in self.at(parent).listing])

    def _matches(self, pattern: Place) -> list[Place]:
        storage = pattern.storage
        scheme, _, rest = pattern.uri.partition("://")
        first, *parts = rest.split("/")
        matches: list[tuple[str, DirEntry | None]] = [(f"{scheme}://{first}", None)]
        for part in parts:
            name = storage.unquoted(part)
            if _WILD.search(name):
                entries = [(base, each) for base, _ in matches for each in self.at(base).listing if fits(each.name, name)]
                matches = [(f"{base}/{storage.quoted(each.name)}", each) for base, each in entries]
            else:
                matches = [(f"{base}/{part}", None) for base, _ in matches]
            if is_archive(name):  # not with `*`: next to a store is often an archive of it
                matches = [_into_archive(*match) for match in matches]
        places = [self.at(uri, entry) for uri, entry in matches]
        found = map_stores(lambda place: place.entry is not None, places, [place.uri for place in places])
        return [place for place, is_there in zip(places, found, strict=True) if is_there]


def uri_of(path: Any) -> str:
    """The absolute URI of a path, without a trailing slash."""
    text = text_of(path)
    if not text:
        raise OptionError(Said("path empty"))
    text = text.removeprefix(TAR) if (scheme_of(text) or "").startswith(TAR) else text
    _refuse_credentials(text)
    return entered(local_uri(text) if scheme_of(text) in (None, "file") else text.rstrip("/"))


def _refuse_credentials(text: str) -> None:
    """Paths are in errors, logs, plans and Spark's pages. No bucket of S3 has an `@` or a `:` in its name."""
    scheme, separator, rest = text.partition("://")
    is_s3 = scheme in SCHEMES
    has_secret = without_secrets(text) != text or _SIGNED.search(rest) is not None
    if not separator or scheme == "file" or not (has_secret or (is_s3 and set("@:") & set(rest.partition("/")[0]))):
        return
    how = Said("credentials of s3" if is_s3 else "credentials of others")
    raise OptionError(say("credentials in path", scheme=scheme, how=how))


def _into_archive(uri: str, entry: DirEntry | None) -> tuple[str, DirEntry | None]:
    inside = entered(uri)
    return inside, entry if inside == uri else None


def fits(name: str, pattern: str) -> bool:
    """Match as a shell does: hidden files need a pattern that starts with a dot. A name that contains `[` also matches itself."""
    return name == pattern or (fnmatch.fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] == "."))


def list_if_possible(uri: str) -> Sequence[DirEntry]:
    """As `Place.listing`."""
    return Place(uri, storage_of(uri), KnownPlaces()).listing
