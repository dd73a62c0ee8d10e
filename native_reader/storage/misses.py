"""Error texts for a path without a store: what is there instead, and what the user may have meant."""

from __future__ import annotations

from collections.abc import Sequence

from native_reader.errors import did_you_mean, option_name
from native_reader.storage.protocol import DirEntry
from native_reader.storage.strays import only_strays, strays_in, unpack_command_at

_NAMES_SHOWN = 8
MOST_NAMED = 5
"""Stores that an error names."""


def no_store(uri: str, entry: DirEntry | None, entries: Sequence[DirEntry], beside_the_log: bool, above: tuple[str, int] | None) -> str:
    """`above`: the nearest parent directory that is a store, and its number of segments."""
    logs = [f"{uri}/{entry.name}" for entry in entries if entry.is_directory and entry.name.lower().startswith("commitlog")]
    if logs and not beside_the_log:
        return (
            f"{uri} is not a store: it has no commitlog directory, only {', '.join(log.rpartition('/')[2] for log in logs)}. "
            f"Set {option_name('store_path_commit_log')}='{','.join(logs)}'"
        )
    if not beside_the_log and (strays := strays_in(entries)):
        return only_strays(uri, strays)
    if beside_the_log:
        text = f"{uri} is not a commitlog: it belongs to a queue, a compacted topic, the timer or the index of DLedger."
    else:
        text = f"{uri} is not a store: no commitlog directory and no file named with 20 digits; {_instead(uri, entry, entries)}."
    if above is not None:
        return f"{text} Did you mean the store {above[0]} ({above[1]} segments)?"
    return text if entry is not None and entry.is_file and unpack_command_at(uri) else f"{text} Name the directory that contains commitlog"


def further_below(uri: str, stores: Sequence[str]) -> str:
    """`stores`: those that are deeper in that directory, one more than MOST_NAMED if there are more."""
    names = ", ".join(store.removeprefix(f"{uri}/") for store in stores[:MOST_NAMED])
    more = ", and more" if len(stores) > MOST_NAMED else ""
    levels = {store.removeprefix(uri).count("/") for store in stores}
    every = f", or all of them: '{uri}{'/*' * levels.pop()}'" if len(levels) == 1 else ""
    return f"{uri} is not a store, but stores are further below: {names}{more}. Name one of them{every}"


def not_there(uri: str, parent: str, missing: str, names: Sequence[str]) -> str:
    """`parent`: the nearest parent directory that exists; it contains `names` but not `missing`."""
    where = "" if f"{parent}/{missing}" == uri or parent == "file://" else f" (nearest existing directory: {parent})"
    return f"{uri} does not exist{where}.{did_you_mean(missing, names)}"


def no_log_directory(uri: str, entry: DirEntry | None, entries: Sequence[DirEntry]) -> str:
    """For a path that the user named as a log directory."""
    if any(entry.is_directory and entry.name == "commitlog" for entry in entries):
        return f"{uri} has no segments, but contains a commitlog directory. Did you mean {uri}/commitlog?"
    return f"{uri} is not a commitlog directory; {_instead(uri, entry, entries)}."


def of_compacted_topic(uri: str) -> str:
    """For a log directory that is one of a compacted topic."""
    return f"{uri} is the log of a compacted topic, with offsets of its own, not a commitlog. Its store has it as the table `compacted`"


def _instead(uri: str, entry: DirEntry | None, entries: Sequence[DirEntry]) -> str:
    if entry is None:
        return "it is neither a file nor a directory"
    if entry.is_file and (command := unpack_command_at(uri)):
        return f"it is packed, so unpack it first: {command}"
    if entry.is_file:
        return "it is a file, but not a segment"
    if not entry.is_directory:
        return "it is neither a file nor a directory"
    names = [entry.name.encode("utf-8", "backslashreplace").decode() + ("/" if entry.is_directory else "") for entry in entries]
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"it contains {', '.join(names[:_NAMES_SHOWN])}{more}" if names else "it is empty"
