"""Whether a store is as it was: what an interrupted command left of it can then be used."""

from __future__ import annotations

from hashlib import sha256

from native_reader.storage.local import states_below
from native_reader.storage.store import StoreFiles

_LOCAL = "file://"


def state_of(files: StoreFiles) -> str | None:
    """A digest of the names, sizes and times of a store's files; None if they are not all in directories of this machine."""
    folders = {files.uri, *(each.directory for each in files.segments), *files.queue_directories, files.index, files.config}
    uris = [uri for uri in folders if uri is not None]
    if not all(uri.startswith(_LOCAL) for uri in uris):
        return None
    found = {each for uri in uris for each in states_below(uri)}
    return sha256(repr(sorted(found)).encode("utf-8", "surrogateescape")).hexdigest()
