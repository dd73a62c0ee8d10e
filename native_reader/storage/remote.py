"""Object storage that is reached with the options `fs.…`: which schemes there are, and their options. What all of them share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

from native_reader.errors import OptionError, did_you_mean, shown
from native_reader.storage.arrow import ArrowStorage, storage_in
from native_reader.storage.protocol import DirEntry, attach, attached, origin_of, register, scheme_of

_QUEUES = re.compile(r"(.*/(?:consumequeue|batchconsumequeue))(?:/|$)")
_LISTED_FOR, _REST = 2.0, 10
"""A listing of all queues is reused for this many seconds, or for this many times as long as it took."""
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
        raise OptionError(f"fs.{name} must be text that is not empty")
    return value.strip()


def fs_flag(name: str, value: object) -> bool:
    """A check of an option that is true or false."""
    known = value if isinstance(value, bool) else _FLAGS.get(value.strip().lower()) if isinstance(value, str) else None
    if known is None:
        raise OptionError(f"fs.{name} must be true or false")
    return known


def fs_seconds(name: str, value: object) -> float:
    """A check of an option that is a duration."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise OptionError(f"fs.{name} must be a number of seconds above 0")
    return seconds


class Access:
    """How object storage is reached: options by name. Its text has names only, because some values are secrets."""

    __slots__ = ("values",)

    def __init__(self, options: Mapping[str, object] | None = None) -> None:
        self.values: dict[str, Any] = {}
        for name, value in (options or {}).items():
            if not isinstance(name, str) or name not in _CHECKS:
                known = [f"fs.{name}" for name in _CHECKS]
                given, near = (f"fs.{name}", did_you_mean(f"fs.{name}", known)) if isinstance(name, str) else (shown(name), "")
                raise OptionError(f"the option {given} is not supported.{near} Supported: {', '.join(known)}")
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
    """Object storage that is reached with options. A directory is a common prefix, so one call lists all that is below it."""

    def __init__(self, origin: str, access: Access, inside: str) -> None:
        super().__init__(origin, inside=inside)
        self.access = access
        self._below: dict[str, tuple[float, dict[str, list[DirEntry]]]] = {}
        """Until when a listing of queues counts, and its entries by directory."""

    def _entry(self, uri: str) -> DirEntry | None:
        directory, _, name = self._path(uri).rpartition("/")
        if (entries := self._among_queues(directory)) is not None:
            return next((entry for entry in entries if entry.name == name), None)
        return super()._entry(uri)

    def _list(self, uri: str) -> list[DirEntry]:
        path = self._path(uri)
        if _QUEUES.fullmatch(path) and self._among_queues(path) is None:
            begun = monotonic()
            below = self._all_below(path)
            self._below[path] = monotonic() + max(_LISTED_FOR, _REST * (monotonic() - begun)), below
        entries = self._among_queues(path)
        return super()._list(uri) if entries is None else entries

    def _among_queues(self, path: str) -> list[DirEntry] | None:
        """The entries of a directory of queues, if all of them were listed just now.

        That is done with their top directory: an answer has a thousand names, and the directory of a queue often only one.
        """
        queues = _QUEUES.match(path)
        until, below = self._below.get(queues[1], (0.0, {})) if queues else (0.0, {})
        return below.get(path) if monotonic() < until else None


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
        raise OptionError("fs options need a path of object storage, such as s3://bucket/store")
    for origin in remote:
        make = _MAKERS.get(scheme_of(origin) or "")
        if not isinstance(access, Access):
            attach(origin, storage_in(origin, access))
        elif make is None:
            raise OptionError(f"fs options are for {', '.join(f'{scheme}://' for scheme in _MAKERS)}, not for {shown(origin)}")
        elif not (isinstance(known := attached(origin), RemoteStorage) and known.access == access):
            attach(origin, make(origin, access))
