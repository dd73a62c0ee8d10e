"""What of a store no read of its messages looks at, and why. Whatever says something of a whole store says this, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from native_reader.broker.databases import faulty_databases
from native_reader.broker.tier import Tier, tier_of
from native_reader.broker.tier_files import tier_folders
from native_reader.layout.times import EPOCH
from native_reader.sentences import Said, commas, say, verbatim, words_of
from native_reader.storage.local import refused_below
from native_reader.storage.paths import list_if_possible
from native_reader.storage.protocol import DirEntry, scheme_of, storage_of
from native_reader.storage.store import REFUSED, StoreFiles, is_closed, is_unknown
from native_reader.text import names_of, size_of

TIERED, DATABASE, PACKED, FORBIDDEN, FAILED = "tiered", "database", "packed", "forbidden", "failed"
COMPACTED = "compaction"
OTHER_BROKER = "other broker"
_OF_RUST = "timer-extended", "timerlog/v2", "config/timercheck.a", "config/timercheck.b", "config/storage-format-inventory.json"
"""What only rocketmq-rust has beside its log (its sources, 1.0): a store of it with none of these looks like one of Java's broker."""
_MOST = 5
"""Topics that a sentence names."""
_LEVELS = 4


class Unread(NamedTuple):
    """One part of a store. What is not known is None. `why`: a sentence that also says what and where.

    `is_loss`: messages, or settings and offsets of consumers, are in it that no read shows. Otherwise it has only copies.
    """

    what: str
    where: str
    why: Said
    is_loss: bool = True
    bytes: int | None = None
    messages: int | None = None
    topics: tuple[str, ...] = ()
    first_time: int | None = None
    last_time: int | None = None


def unread_parts(store: StoreFiles, conf: str | None = None, refused: Sequence[str] | None = None) -> list[Unread]:
    """The parts of a store that are not read. `conf`: the URI of the broker's configuration file, if it is known.

    `refused`: what this user may not open of the queues; None if they were not looked at.
    """
    forbidden = [*_segments_not_opened(store), *_forbidden(store, refused)]
    return [*_tier(store, conf), *_databases(store), *_strays(store), *forbidden, *_compacted(store), *_of_other_broker(store)]


def _tier(store: StoreFiles, conf: str | None) -> Iterator[Unread]:
    if (tier := tier_of(store.uri, store.config, conf)) is not None:
        yield Unread(
            TIERED, tier.where, about_tier(tier), True, tier.size, tier.messages, tuple(tier.topics), tier.first_time, tier.last_time
        )


def about_tier(tier: Tier) -> Said:
    """What a tier holds, as far as its metadata says it."""
    if tier.messages is None:
        return say(tier.sign, where=tier.where)
    topics = tier.topics
    held = say("tier holds", where=tier.where, messages=tier.messages, topics=len(topics), names=names_of(topics, _MOST))
    if tier.first_time is None or tier.last_time is None:
        return held
    return say("period", what=held, first=_utc(tier.first_time), last=_utc(tier.last_time))


def _utc(milliseconds: int) -> str:
    try:
        return (EPOCH + timedelta(milliseconds=milliseconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        return f"{milliseconds:,} ms"


def _databases(store: StoreFiles) -> Iterator[Unread]:
    for each in faulty_databases(store.uri, store.config):
        if each.early is not None:
            yield Unread(DATABASE, each.uri, each.early)
        if each.found is not None:
            yield Unread(DATABASE, each.uri, verbatim(each.found))


def _strays(store: StoreFiles) -> Iterator[Unread]:
    """Packed and renamed segments that are not read."""
    directories = {segment.directory for segment in store.segments} or {f"{store.uri}/commitlog"}
    sizes = {entry.name: (f"{each}/{entry.name}", entry.size) for each in directories for entry in list_if_possible(each)}
    for name in store.strays:
        where, size = sizes.get(name, (name, None))
        yield Unread(PACKED, where, say("strays", names=where), bytes=size)


def _segments_not_opened(store: StoreFiles) -> Iterator[Unread]:
    """Segments that cannot be opened. On a slow storage, where each try takes long, whatever reads them says so."""
    for segment in () if storage_of(store.uri).is_slow else store.segments:
        if (why := unopened(segment.uri)) is not None:
            yield Unread(FORBIDDEN if why.kind == "forbidden" else FAILED, segment.uri, why, bytes=segment.size)


def unopened(uri: str) -> Said | None:
    """Why a file is not read: this user may not open it, or its storage fails. None if it can be opened, or a disk lost it."""
    try:
        storage_of(uri).open(uri).close()
    except OSError as error:
        return why_unknown(uri, error)
    return None


def why_unknown(uri: str, error: OSError) -> Said | None:
    """The same, after a try."""
    if error.errno in REFUSED:
        return say("forbidden", where=uri)
    return say("not given", where=uri, reason=words_of(error)) if is_unknown(error) else None


def _forbidden(store: StoreFiles, refused: Sequence[str] | None) -> Iterator[Unread]:
    """Queues, index files, settings and files of a tier that this user may not read."""
    beside = [each for each in (store.index, store.config) if each is not None]
    beside += tier_folders(store.uri, store.tier) if scheme_of(store.uri) == "file" else ()
    below = {uri for directory in beside for uri in _refused_below(directory)}
    for directory in store.queue_directories:
        below.update(_refused_below(directory) if refused is None else _refused_itself(directory))
    for uri in sorted({*(refused or ()), *below}):
        yield Unread(FORBIDDEN, uri, say("forbidden", where=uri), is_loss=uri != store.index and not uri.startswith(f"{store.index}/"))


def _refused_below(directory: str) -> Iterator[str]:
    return refused_below(directory) if scheme_of(directory) == "file" else _refused_itself(directory)


def _refused_itself(directory: str) -> Iterator[str]:
    if is_closed(directory):
        yield directory


def _compacted(store: StoreFiles) -> Iterator[Unread]:
    if size := _size_below(f"{store.uri}/compaction/compactionLog"):
        where = f"{store.uri}/compaction"
        yield Unread(COMPACTED, where, say("compaction not read", where=where, size=size_of(size)), False, size)


def _of_other_broker(store: StoreFiles) -> Iterator[Unread]:
    """Files of rocketmq-rust. On a slow storage, they are not looked for."""
    found = [] if storage_of(store.uri).is_slow else [name for name in _OF_RUST if _is_there(f"{store.uri}/{name}")]
    if found:
        yield Unread(OTHER_BROKER, f"{store.uri}/{found[0]}", say("of rocketmq-rust", store=store.uri, names=commas(found)))


def _is_there(uri: str) -> bool:
    try:
        return storage_of(uri).entry(uri) is not None
    except OSError:  # its folder is forbidden, which is said of the folder
        return False


def _size_below(directory: str, levels: int = _LEVELS) -> int:
    def size_of_entry(entry: DirEntry) -> int:
        return _size_below(f"{directory}/{storage_of(directory).quoted(entry.name)}", levels - 1) if entry.is_directory else entry.size

    return sum(map(size_of_entry, list_if_possible(directory))) if levels else 0
