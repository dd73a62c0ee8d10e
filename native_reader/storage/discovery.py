"""From what a person types to stores: a store, a commitlog directory, one segment, a parent of stores, a glob, several."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from native_reader.errors import OptionError, PathError, nearest
from native_reader.storage.local import local_uri
from native_reader.storage.protocol import Entry, scheme_of, storage_of
from native_reader.storage.store import DLEDGER, PLAIN, Segment, StoreFiles, framing_of, is_segment_name, merged, segments_in

_NOT_LOGS = ("consumequeue", "consumequeue_ext", "batchconsumequeue", "compaction", "compactionLog", "compactionCq", "timerlog", "index")
"""Directories that hold 20-digit files, or copies of records, and are no log of messages."""
_LEVELS_UP = 4
_NAMES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Parts:
    """Where parts of a store lie when they do not lie below its root; each as the broker's configuration names it."""

    root: str | None = None
    commit_log: tuple[str, ...] = ()
    dledger: str | None = None
    consume_queue: str | None = None
    index: str | None = None


def find_stores(paths: Sequence[str], parts: Parts) -> list[StoreFiles]:
    """The stores at those paths, each once; `parts` can only be said of a single one."""
    roots = [uri for path in paths for uri in _expanded(path)]
    if parts.root is not None and not roots:
        roots = [uri_of(parts.root)]
    if parts != Parts(root=parts.root):
        if len(roots) > 1:
            raise OptionError(f"store_path_commit_log, store_path_consume_queue and store_path_index name parts of one store, not of {len(roots)}")
        return [_from_parts(roots[0] if roots else None, parts)]
    found = {store.uri: store for uri in roots for store in _stores_at(uri)}
    return list(found.values())


def uri_of(path: str) -> str:
    """The absolute URI of a path, without a slash at its end."""
    if scheme_of(path) in (None, "file"):
        path = local_uri(path)
    return path.rstrip("/")


def parse_broker_conf(uri: str) -> Parts:
    """What a broker's properties file says about where the store lies."""
    storage = storage_of(uri)
    entry = storage.entry(uri)
    if entry is None or not entry.is_file:
        raise PathError(f"{uri} is not a file. broker_conf names the broker's own configuration, often conf/broker.conf")
    with storage.open(uri) as file:
        (text,) = file.read_ranges([(0, entry.size)])
    said = dict(re.findall(r"(?m)^[ \t]*(\w+)[ \t]*[=:][ \t]*(.*?)[ \t]*\r?$", text.decode("utf-8", "replace")))
    logs = _split(said.get("storePathCommitLog", ""))
    if len(logs) > 1:  # a broker with a single path ignores the read-only ones
        logs += _split(said.get("readOnlyCommitLogStorePaths", ""))
    root = said.get("storePathRootDir") or None
    if root is None and not logs:
        raise PathError(f"{uri} names neither storePathRootDir nor storePathCommitLog. A broker then keeps its store in ~/store of its own user")
    return Parts(
        root, logs, said.get("storePathDLedgerCommitLog") or None, said.get("storePathConsumeQueue") or None, said.get("storePathIndex") or None
    )


def _split(paths: str) -> tuple[str, ...]:
    return tuple(path.strip() for path in paths.split(",") if path.strip())


def _from_parts(root: str | None, parts: Parts) -> StoreFiles:
    logs = [uri_of(path) for path in parts.commit_log]
    segments: list[Segment] = []
    for log in logs:
        if _entry(log) is None and len(logs) > 1:  # a path that a broker has not used yet
            continue
        segments += segments_in(_directory(log))
    dledger = segments_in(_directory(uri_of(parts.dledger)), DLEDGER) if parts.dledger else []
    home = root or (_home_of(logs[0]) if logs else None)
    if home is None:
        raise PathError("no path was given, and no store_path_commit_log")
    if not logs:
        segments, found = _log_of(home)
        dledger = dledger or found
    store = _store(home, segments, dledger)
    return StoreFiles(
        store.uri,
        store.segments,
        uri_of(parts.consume_queue) if parts.consume_queue else store.consume_queue,
        uri_of(parts.index) if parts.index else store.index,
        store.config,
    )


def _expanded(path: str) -> list[str]:
    """The URIs that a path with `*`, `?` or `[...]` stands for; itself where it has none, or exists as it is."""
    uri = uri_of(path)
    wild = re.compile(r"[*?\[]")
    decoded = uri if scheme_of(path) not in (None, "file") else uri.replace("%2A", "*").replace("%3F", "?").replace("%5B", "[").replace("%5D", "]")
    if not wild.search(decoded) or _entry(uri) is not None:
        return [uri]
    scheme, _, rest = decoded.partition("://")
    first, *names = rest.split("/")
    found = [f"{scheme}://{first}"]
    for name in names:
        if wild.search(name):
            found = [f"{base}/{entry.name}" for base in found for entry in _list(base) if fnmatch.fnmatchcase(entry.name, name)]
        else:
            found = [f"{base}/{name}" for base in found]
    found = [uri for uri in found if _entry(uri) is not None]
    if not found:
        raise PathError(f"{path}: no file or directory matches")
    return found


def _stores_at(uri: str) -> list[StoreFiles]:
    entry = _entry(uri)
    if entry is None:
        raise PathError(f"{uri} does not exist.{_sibling(uri)}")
    wrong = next((part for part in reversed(uri.split("/")) if part in _NOT_LOGS), None)
    if entry.is_file and is_segment_name(entry.name) and wrong is None:
        segment = Segment(int(entry.name), entry.size, uri, entry.identity, framing_of(uri))
        return [StoreFiles(_home_of(uri.rpartition("/")[0]), (segment,) if entry.size else ())]
    if wrong is None and entry.is_directory:
        if store := _store_at(uri):
            return [store]
        children = (f"{uri}/{entry.name}" for entry in _list(uri) if entry.is_directory and entry.name not in _NOT_LOGS)
        below = [store for child in children if (store := _store_with_root(child))]
        if below:
            return below
    raise PathError(_no_store(uri, entry))


def _store_at(uri: str) -> StoreFiles | None:
    """The store whose root or commitlog directory that is."""
    names = {entry.name: entry for entry in _list(uri)}
    if any(entry.is_file and is_segment_name(name) for name, entry in names.items()):
        home = _home_of(uri)
        framing = DLEDGER if _is_dledger(uri) else None
        segments = segments_in(uri, framing)
        return _store(home, [each for each in segments if each.framing == PLAIN], [each for each in segments if each.framing == DLEDGER])
    if store := _store_with_root(uri):
        return store
    return StoreFiles(_home_of(uri), ()) if uri.rpartition("/")[2] == "commitlog" else None


def _store_with_root(uri: str) -> StoreFiles | None:
    """The store whose root that is."""
    names = {entry.name for entry in _list(uri) if entry.is_directory}
    if "commitlog" in names or any(name.startswith("dledger-") for name in names):
        return _store(uri, *_log_of(uri))
    return None


def _log_of(root: str) -> tuple[list[Segment], list[Segment]]:
    """The plain and the DLedger segments below a store's root."""
    names = {entry.name for entry in _list(root) if entry.is_directory}
    plain = segments_in(f"{root}/commitlog", PLAIN) if "commitlog" in names else []
    nodes = sorted(name for name in names if name.startswith("dledger-") and _entry(f"{root}/{name}/data") is not None)
    if len(nodes) > 1:
        raise PathError(f"{root} holds the logs of several DLedger nodes: {', '.join(nodes)}. Load one of them: {root}/{nodes[0]}/data")
    return plain, segments_in(f"{root}/{nodes[0]}/data", DLEDGER) if nodes else []


def _store(home: str, plain: Iterable[Segment], dledger: Iterable[Segment]) -> StoreFiles:
    """A broker that changed to DLedger keeps its old log below the first DLedger file, and may keep stale files above it."""
    log = merged(dledger)
    below = [segment for segment in plain if not log or segment.base < log[0].base]
    names = {entry.name for entry in _list(home) if entry.is_directory}
    found = (f"{home}/{name}" if name in names else None for name in ("consumequeue", "index", "config"))
    return StoreFiles(home, merged([*below, *log]), *found)


def _home_of(log: str) -> str:
    """The root of the store that a commitlog directory belongs to: its parent in the usual layout, else itself."""
    if _is_dledger(log):
        return log.rsplit("/", 2)[0]
    parent, _, name = log.rpartition("/")
    return parent if name == "commitlog" else log


def _is_dledger(uri: str) -> bool:
    parts = uri.split("/")
    return parts[-1] == "data" and parts[-2].startswith("dledger-")


def _entry(uri: str) -> Entry | None:
    return storage_of(uri).entry(uri)


def _list(uri: str) -> list[Entry]:
    try:
        return storage_of(uri).list(uri)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _directory(uri: str) -> str:
    entry = _entry(uri)
    if entry is None or not entry.is_directory:
        raise PathError(f"{uri} is not a directory.{_sibling(uri)}")
    return uri


def _sibling(uri: str) -> str:
    parent, _, name = uri.rpartition("/")
    return nearest(name, [entry.name for entry in _list(parent)])


def _no_store(uri: str, entry: Entry) -> str:
    """What was found instead, and the nearest thing that is a store."""
    if not entry.is_directory:
        found = "it is a file whose name is not an offset of 20 digits"
    else:
        names = [each.name + ("/" if each.is_directory else "") for each in _list(uri)]
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        found = f"it holds {', '.join(names[:_NAMES_SHOWN])}{more}" if names else "it is empty"
        logs = [name.rstrip("/") for name in names if name.lower().startswith("commitlog")]
        if logs:
            return (
                f"{uri} does not look like a store: no commitlog directory, but {', '.join(logs)}. "
                f"Name the log's directories: store_path_commit_log='{','.join(f'{uri}/{name}' for name in logs)}'"
            )
    text = f"{uri} does not look like a store: no commitlog directory, no file named by an offset of 20 digits; {found}."
    above = uri
    for _ in range(_LEVELS_UP):
        above = above.rpartition("/")[0]
        if above.count("/") < 3:
            break
        if any(part in _NOT_LOGS for part in above.split("/")):
            continue
        if store := _store_at(above):
            return f"{text} {above} above it does ({len(store.segments)} segments). Did you mean that?"
    return text
