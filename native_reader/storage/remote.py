"""Object storage that is reached with the options `fs.…`: which schemes there are, and their options. What all of them share."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

from native_reader.errors import OptionError, shown
from native_reader.sentences import Said, commas, meant, say
from native_reader.storage.arrow import KNOWN_FOR, ArrowStorage, Stamp, storage_in
from native_reader.storage.protocol import DirEntry, StoredFile, attach, attached, origin_of, register, scheme_of

_QUEUES = re.compile(r"(.*/(?:consumequeue|batchconsumequeue))(?:/|$)")
_REST = 10
"""A listing counts for this many times as long as it took, if that is longer than what else is known counts."""
_FLAGS = {"true": True, "false": False}
_HIDDEN = "***"
_SHORTEST = 4
"""Shorter values are not searched for in errors: they would be found in ordinary words."""

Check = Callable[[str, object], object]
"""Makes the value of an option from what a user gave; raises OptionError. Its arguments are the name and that."""
_CHECKS: dict[str, Check] = {}
_SECRETS = list[str]()


def fs_text(name: str, value: object) -> str:
    """A check of an option that is text."""
    if not isinstance(value, str) or not value.strip():
        raise OptionError(say("fs not text", name=name))
    return value.strip()


def fs_flag(name: str, value: object) -> bool:
    """A check of an option that is true or false."""
    known = value if isinstance(value, bool) else _FLAGS.get(value.strip().lower()) if isinstance(value, str) else None
    if known is None:
        raise OptionError(say("fs not a flag", name=name))
    return known


def fs_seconds(name: str, value: object) -> float:
    """A check of an option that is a duration."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise OptionError(say("fs no seconds", name=name))
    return seconds


class Access:
    """How object storage is reached: options by name. Its text has names only, because some values are secrets."""

    __slots__ = ("values",)

    def __init__(self, options: Mapping[str, object] | None = None) -> None:
        self.values: dict[str, Any] = {}
        for name, value in (options or {}).items():
            if not isinstance(name, str) or name not in _CHECKS:
                known = [f"fs.{name}" for name in _CHECKS]
                given, near = (f"fs.{name}", meant(f"fs.{name}", known)) if isinstance(name, str) else (shown(name), Said("nothing"))
                raise OptionError(say("fs option unknown", given=given, near=near, known=commas(known)))
            if value is not None:
                self.values[name] = _CHECKS[name](name, value)

    def hidden(self, text: str) -> str:
        """The text without secrets."""
        for name in _SECRETS:
            value = self.values.get(name)
            if isinstance(value, str) and len(value) >= _SHORTEST:
                text = text.replace(value, _HIDDEN)
        return text

    def __repr__(self) -> str:
        return f"<fs: {', '.join(self.values) or 'from the environment'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Access) and self.values == other.values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.values)))

    def __reduce__(self) -> tuple[object, ...]:
        return Access, (dict(self.values),)


class RemoteStorage(ArrowStorage):
    """Object storage that is reached with options. A directory is a common prefix.

    What a directory holds is asked once and known for a while, and also tells what is not below it. Of queues, one call lists all
    that is below their top directory: an answer has a thousand names, and the directory of a queue often only one.
    """

    def __init__(self, origin: str, access: Access, inside: str) -> None:
        super().__init__(origin, inside=inside)
        self.access = access
        self._listed: dict[str, tuple[float, list[DirEntry]]] = {}
        """By directory: until when a listing counts, and its entries."""
        self._below: dict[str, tuple[float, dict[str, list[DirEntry]]]] = {}
        """The same of queues, with the entries of all directories below."""

    def look_again(self) -> None:
        super().look_again()
        self._listed = {}

    def _entry(self, uri: str) -> DirEntry | None:
        path = self._path(uri)
        directory, _, name = path.rpartition("/")
        entries = self._known(directory)
        if entries is not None:
            return next((entry for entry in entries if entry.name == name), None)
        if not _QUEUES.match(path) and self._entries_of(path):  # mostly, what is asked about is a directory
            return DirEntry(name, 0, Stamp(0).identity, False, True)
        return super()._entry(uri)

    def _list(self, uri: str) -> list[DirEntry]:
        entries = self._entries_of(self._path(uri))
        if not entries:
            entry = self._entry(uri)
            if entry is None:
                raise FileNotFoundError(errno.ENOENT, "No such directory", uri)
            if entry.is_file:
                raise NotADirectoryError(errno.ENOTDIR, "Not a directory", uri)
        return entries

    def _entries_of(self, path: str) -> list[DirEntry]:
        """The entries of a directory; empty if there is none."""
        entries = self._known(path)
        return self._listing(path) if entries is None else entries

    def _open(self, uri: str) -> StoredFile:
        directory, _, name = self._path(uri).rpartition("/")
        entries = self._known(directory)
        if entries is not None and not any(entry.name == name for entry in entries):
            raise FileNotFoundError(errno.ENOENT, "No such file", uri)
        return super()._open(uri)

    def _known(self, path: str) -> list[DirEntry] | None:
        """The entries of a directory, as far as it takes one call: it was listed, or that above it was. Empty if it does not exist."""
        if (queues := _QUEUES.match(path)) is not None:
            until, below = self._below.get(queues[1], (0.0, {}))
            return below.get(path, []) if monotonic() < until else None
        until, entries = self._listed.get(path, (0.0, []))
        if monotonic() < until:
            return entries
        above, separator, name = path.rpartition("/")
        around = self._known(above) if separator else None
        if around is None:
            return None
        return self._listing(path) if any(entry.name == name and entry.is_directory for entry in around) else []

    def _listing(self, path: str) -> list[DirEntry]:
        """The entries of a directory, from one call; empty if there is none."""
        begun = monotonic()
        if _QUEUES.fullmatch(path):
            below = self._all_below(path)
            self._below[path] = _until(begun), below
            return below.get(path, [])
        entries = self._entries(path)
        self._listed[path] = _until(begun), entries
        return entries


def _until(begun: float) -> float:
    """Until when a listing counts: for some seconds, or for many times as long as it took."""
    now = monotonic()
    return now + max(KNOWN_FOR, _REST * (now - begun))


_MAKERS: dict[str, Callable[[str, Access], RemoteStorage]] = {}
"""What makes the storage of an origin, by scheme."""


def register_remote(
    schemes: Iterable[str], make: Callable[[str, Access], RemoteStorage], options: Mapping[str, Check], secrets: Iterable[str]
) -> None:
    """Use `make(origin, access)` for URIs of these schemes. `options`: those that it takes as `fs.…`, with the check of each."""
    _CHECKS.update(options)
    _SECRETS.extend(secrets)
    for scheme in schemes:
        _MAKERS[scheme] = make
        register(scheme, lambda origin: make(origin, Access()))


def fs_names() -> tuple[str, ...]:
    """The names of all options `fs.…`."""
    return tuple(_CHECKS)


def is_remote(uri: str) -> bool:
    """Whether a path is in object storage that is reached with options."""
    return scheme_of(uri) in _MAKERS


def use(uris: Iterable[str], fs: Any) -> None:
    """Reach object storage at these paths so in this process, from now on. `fs`: an Access, options by name, or a file system."""
    access = Access(fs) if isinstance(fs, Mapping) else fs
    remote = sorted({origin_of(uri) for uri in uris if scheme_of(uri) not in (None, "file")})
    if not remote:
        raise OptionError(Said("fs without storage"))
    for origin in remote:
        make = _MAKERS.get(scheme_of(origin) or "")
        if not isinstance(access, Access):
            attach(origin, storage_in(origin, access))
        elif make is None:
            raise OptionError(say("fs for other", schemes=commas(f"{scheme}://" for scheme in _MAKERS), origin=shown(origin)))
        elif not (isinstance(known := attached(origin), RemoteStorage) and known.access == access):
            attach(origin, make(origin, access))
