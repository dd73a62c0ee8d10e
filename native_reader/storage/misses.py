"""Errors for a path without a store: what is there instead, and what the user may have meant."""

from __future__ import annotations

from collections.abc import Sequence

from native_reader.errors import PathError, nearest
from native_reader.sentences import Said, commas, say
from native_reader.storage.protocol import DirEntry
from native_reader.storage.strays import only_strays, strays_in, unpack_command_at

_NAMES_SHOWN = 8
MOST_NAMED = 5
"""Stores that an error names."""


def no_store(
    uri: str, entry: DirEntry | None, entries: Sequence[DirEntry], beside_the_log: bool, above: tuple[str, int] | None
) -> PathError:
    """`above`: the nearest parent directory that is a store, and its number of segments."""
    logs = [f"{uri}/{entry.name}" for entry in entries if entry.is_directory and entry.name.lower().startswith("commitlog")]
    if logs and not beside_the_log:
        names = commas(log.rpartition("/")[2] for log in logs)
        return PathError(say("miss other logs", uri=uri, names=names, logs=",".join(logs)))
    if not beside_the_log and (strays := strays_in(entries)):
        return PathError(only_strays(uri, strays))
    what = say("miss not a log", uri=uri) if beside_the_log else say("miss no store", uri=uri, instead=_instead(uri, entry, entries))
    if above is not None:
        return PathError(say("miss store above", what=what, store=above[0], segments=above[1]))
    is_packed = entry is not None and entry.is_file and unpack_command_at(uri)
    return PathError(what if is_packed else say("miss name it", what=what))


def further_below(uri: str, stores: Sequence[str]) -> PathError:
    """`stores`: those that are deeper in that directory, one more than MOST_NAMED if there are more."""
    names = commas(store.removeprefix(f"{uri}/") for store in stores[:MOST_NAMED])
    names = say("miss and more", names=names) if len(stores) > MOST_NAMED else names
    levels = {store.removeprefix(uri).count("/") for store in stores}
    if len(levels) > 1:
        return PathError(say("miss below", uri=uri, names=names))
    return PathError(say("miss below all", uri=uri, names=names, pattern=f"{uri}{'/*' * levels.pop()}"))


def not_there(uri: str, parent: str, missing: str, names: Sequence[str]) -> PathError:
    """`parent`: the nearest parent directory that exists; it contains `names` but not `missing`."""
    is_beside = f"{parent}/{missing}" == uri or parent == "file://"
    what = say("miss not there", uri=uri) if is_beside else say("miss not there below", uri=uri, parent=parent)
    near = nearest(missing, names)
    return PathError(what if near is None else say("miss did you mean", what=what, near=near))


def no_log_directory(uri: str, entry: DirEntry | None, entries: Sequence[DirEntry]) -> PathError:
    """For a path that the user named as a log directory."""
    if any(entry.is_directory and entry.name == "commitlog" for entry in entries):
        return PathError(say("miss log inside", uri=uri))
    return PathError(say("miss no log directory", uri=uri, instead=_instead(uri, entry, entries)))


def of_compacted_topic(uri: str) -> str:
    """For a log directory that is one of a compacted topic."""
    return f"{uri} is the log of a compacted topic, with offsets of its own, not a commitlog. Its store has it as the table `compacted`"


def _instead(uri: str, entry: DirEntry | None, entries: Sequence[DirEntry]) -> Said:
    if entry is None:
        return Said("miss neither")
    if entry.is_file and (command := unpack_command_at(uri)):
        return say("miss packed", command=command)
    if entry.is_file:
        return Said("miss a file")
    if not entry.is_directory:
        return Said("miss neither")
    names = [entry.name.encode("utf-8", "backslashreplace").decode() + ("/" if entry.is_directory else "") for entry in entries]
    if not names:
        return Said("miss empty")
    shown = commas(names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return say("miss contains more", names=shown, more=more) if more > 0 else say("miss contains", names=shown)
