"""Uses the index to find messages with a key or an id: extends the predicate with the offsets where rows may be.

Every condition on a key gets a second part, which is true wherever the first can be true:
- at the offsets that index files name, and at offsets that no index file covers;
- in topics whose name was not hashed;
- in topics with inner batches, because their messages are not indexed;
- after a prepared message of brokers 4.0 to 4.2, because its rollback is not indexed.

The planner then skips segments, queues and records by this predicate as by any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from native_reader.layout.index_entry import key_hash
from native_reader.layout.properties import KEYS_SEPARATOR
from native_reader.layout.record import Mask
from native_reader.log.witness import is_live
from native_reader.plan.batches import has_queues, topics_with_batches
from native_reader.plan.claims import facts_of_topic
from native_reader.plan.estimate import SCAN, TRUST
from native_reader.plan.index import Hits, IndexFile, Looked, index_files, look
from native_reader.plan.indexed import UNJUDGED, Judged, judged
from native_reader.plan.queues import Numbers, topics_in
from native_reader.predicate.outcomes import NoneOf, exactly, may_be_true
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, In, Not, Or, Predicate, leaves, rewritten
from native_reader.storage.checkpoint import checkpoint_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles
from native_reader.storage.topics import Topics

BY_KEY = "the index names all places"
NOT_WORTH_ASKING = 64 << 10
"""Fewer bytes than this are read faster than queues are searched."""
_CALLS_PER_LOOK = 5
"""Reads per lookup: one slot, then the entries of its chain in a full file."""
_MOST_HITS = 20_000
"""With more records than this a plain read is as fast, and planning must not read them all."""
_SIDE_BY_SIDE = 16
_SLOW = 1 << 20
_OFFSET = Column("physical_offset")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_OFFSET_ID = re.compile("(?:[0-9A-F]{32}|[0-9A-F]{56})")


@dataclass(frozen=True, slots=True)
class Located:
    """A predicate with the offsets where its rows may be, and the evidence for them."""

    predicate: Predicate
    hits: tuple[int, ...] = ()
    """Offsets of records with such a key, each one checked, to be read first."""
    topics: int = 0
    files: int = 0
    uncovered: tuple[tuple[int, int], ...] = ()
    """Offsets `[start, stop)` that the index does not cover."""
    unknown_topics: bool = False
    """Whether topics without a known name may have the key too."""
    batches: tuple[str, ...] = ()
    """Topics where a message inside a batch may have the key."""
    without_queues: tuple[str, ...] = ()
    """Topics without queues, which may have held batches."""
    prepared: tuple[tuple[str, int], ...] = ()
    """Topics with a prepared message that has the key, and the offset of the first one: its rollback would be after it."""
    why: tuple[str, ...] = ()
    """Why index files could not be used or trusted."""

    @property
    def is_complete(self) -> bool:
        """Whether almost nothing besides the hits must be read."""
        left = sum(stop - start for start, stop in self.uncovered)
        return (
            self.files > 0
            and left <= NOT_WORTH_ASKING
            and not (self.unknown_topics or self.batches or self.without_queues or self.prepared)
        )


def located(store: StoreFiles, predicate: Predicate, access: str, end: int, *, slots: int | None, max_record_bytes: int) -> Located:
    """Combine the predicate with the index of a store whose log ends at `end`."""
    by_id = rewritten(predicate, _by_id)
    keys = sorted({key for leaf in leaves(predicate) for key in _keys_of(leaf)})
    if access == SCAN or not keys:
        return Located(by_id)
    files = index_files(store.index, slots)
    if not files:
        return Located(by_id, why=(_why_none(store),))
    facts, log = {"store": exactly(store.uri)}, (store.first_record, end)
    named, configured = set(_named(predicate)), Topics(store.config)
    if unknown := bool(may_be_true(predicate, {**facts, "topic": NoneOf(tuple(named))})):
        named |= {*(topic.name for topic in topics_in(store.queues)), *configured.names()}
    names = sorted(name for name in named if _REPLACEMENT not in name and may_be_true(predicate, {**facts, **facts_of_topic(name)}))
    costs = storage_of(files[0].uri).call_costs if access != TRUST else 0
    asked = len(names) * len(keys)
    if asked * len(files) * _CALLS_PER_LOOK * costs > log[1] - log[0]:
        return Located(by_id, why=(f"asking {len(files):,} index files about {len(names):,} topics costs more than reading",))
    hashes = {(topic, key): key_hash(topic, key) for topic in names for key in keys}
    looked = _looked(files, np.unique(np.fromiter(hashes.values(), np.int64, asked)), log, costs)
    found = Located(by_id, topics=len(names), files=len(files))
    if access == TRUST:
        hits = _joined([each.hits for each in looked])
        told = _judged_if_few(store, hits, max_record_bytes)
    else:
        looked, told, sizes = _proven(store, looked, max_record_bytes, log)
        hits = _joined([each.hits for each in looked])
        found = replace(
            found,
            uncovered=tuple(_uncovered(looked, sizes, log)),
            unknown_topics=unknown,
            batches=tuple(topics_with_batches(store, names, configured, end, by_records=not unknown)),
            without_queues=tuple(name for name in names if not any(has_queues(each, name) for each in store.queues)),
            prepared=tuple(_first_prepared(hits.where(told.prepared), hashes)),
            why=tuple(f"{each.uri}: {each.why}" for each in looked if each.why is not None),
        )
    found = replace(found, hits=tuple(np.unique(hits.offsets[told.keys > 0]).tolist()))
    return replace(found, predicate=rewritten(by_id, _Places(hits.where(told.sizes != 0), hashes, names, found).of))


class _Places:
    """Where the rows of one condition may be."""

    def __init__(self, hits: Hits, hashes: dict[tuple[str, str], int], names: Sequence[str], found: Located) -> None:
        self._hits, self._hashes, self._names = hits, hashes, names
        self._elsewhere: list[Predicate] = [
            And((Compare(_OFFSET, ">=", start), Compare(_OFFSET, "<", stop))) for start, stop in found.uncovered
        ]
        if found.unknown_topics:
            self._elsewhere.append(Not(In(Column("topic"), tuple(names))))
        if found.batches or found.without_queues:
            self._elsewhere.append(In(Column("topic"), (*found.batches, *found.without_queues)))
        for topic, offset in found.prepared:
            self._elsewhere.append(And((Compare(Column("topic"), "=", topic), Compare(_OFFSET, ">", offset))))

    def of(self, leaf: Predicate) -> Predicate | None:
        keys = _keys_of(leaf)
        if not keys:
            return None
        wanted = np.array([self._hashes[topic, key] for topic in self._names for key in keys], np.int64)
        offsets = np.unique(self._hits.offsets[np.isin(self._hits.hashes, wanted)])
        return Or((_at((*offsets.tolist(), *_offsets_of(leaf))), *self._elsewhere))


def _keys_of(leaf: Predicate) -> tuple[str, ...]:
    """Keys of which a matching row must have at least one; empty if the index does not help."""
    match leaf:
        case ArrayContains(Column("keys", None), key):
            found: tuple[object, ...] = (key,)
        case Compare(Column("uniq_key" | "msg_id", None), "=", key) | Compare(Column("properties", "UNIQ_KEY"), "=", key):
            found = (key,)
        case In(Column("uniq_key" | "msg_id", None), keys) | In(Column("properties", "UNIQ_KEY"), keys):
            found = keys
        case Compare(Column("properties", "KEYS"), "=", str(words)):
            found = (max(words.split(KEYS_SEPARATOR), key=len),)
        case _:
            return ()
    usable = tuple(key for key in found if isinstance(key, str) and key and _REPLACEMENT not in key)
    return usable if len(usable) == len(found) else ()


def _by_id(leaf: Predicate) -> Predicate | None:
    """Where rows with given offset message ids may be: the id encodes the offset; an invalid id matches nothing."""
    match leaf:
        case Compare(Column("offset_msg_id"), "=", _) | In(Column("offset_msg_id"), _):
            return _at(_offsets_of(leaf))
    return None


def _offsets_of(leaf: Predicate) -> tuple[int, ...]:
    """The offsets encoded in the message ids of a condition."""
    match leaf:
        case Compare(Column("msg_id" | "offset_msg_id"), "=", str(text)):
            texts: tuple[object, ...] = (text,)
        case In(Column("msg_id" | "offset_msg_id"), values):
            texts = values
        case _:
            return ()
    offsets = (int(text[-16:], 16) for text in texts if isinstance(text, str) and _OFFSET_ID.fullmatch(text))
    return tuple(offset for offset in offsets if offset < 2**63)


def _at(offsets: Sequence[int]) -> Predicate:
    return In(_OFFSET, tuple(offsets))


def _named(predicate: Predicate) -> Iterator[str]:
    """The topics that the predicate names."""
    for leaf in leaves(predicate):
        match leaf:
            case Compare(Column("topic"), "=", str(name)):
                yield name
            case In(Column("topic"), names):
                yield from (name for name in names if isinstance(name, str))


def _looked(files: Sequence[IndexFile], hashes: Numbers, log: tuple[int, int], costs: int) -> list[Looked]:
    def one(file: IndexFile) -> Looked:
        return look(file, hashes, log, costs)

    if storage_of(files[0].uri).call_costs < _SLOW:  # threads cost more than such calls
        return list(map(one, files))
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        return list(threads.map(one, files))


def _judged_if_few(store: StoreFiles, hits: Hits, max_record_bytes: int) -> Judged:
    """Check the hits of trusted files; with too many hits for planning, all stay UNJUDGED."""
    count = len(hits.offsets)
    if count > _MOST_HITS:
        return Judged(np.full(count, UNJUDGED), np.zeros(count, np.int64), np.zeros(count, np.bool_))
    return judged(store, hits, max_record_bytes)


def _first_prepared(hits: Hits, hashes: dict[tuple[str, str], int]) -> Iterator[tuple[str, int]]:
    """Topics with such hits, and the offset of the first hit of each."""
    if len(hits.offsets):  # only in stores of brokers 4.0 to 4.2
        for topic in sorted({topic for topic, _ in hashes}):
            mine = np.isin(hits.hashes, [hashed for (name, _), hashed in hashes.items() if name == topic])
            if mine.any():
                yield topic, int(hits.offsets[mine].min())


def _proven(
    store: StoreFiles, looked: Sequence[Looked], max_record_bytes: int, log: tuple[int, int]
) -> tuple[list[Looked], Judged, list[int]]:
    """Check the files: returns them with a reason (`why`) if not trusted, their judged hits, and the size of each file's last record."""
    looked = [_bounded(each) for each in looked]
    asked = [_joined([each.proofs, each.hits]) for each in looked]
    told, stale_after = judged(store, _joined(asked), max_record_bytes), _stale_after(store)
    is_hit = np.concatenate([np.arange(len(mine.offsets)) >= len(each.proofs.offsets) for each, mine in zip(looked, asked, strict=True)])
    often = _too_often(_joined(asked), told.keys, is_hit)
    found, last, begin = [], [], 0
    for each, mine in zip(looked, asked, strict=True):
        right, twice = told.sizes[begin : begin + len(mine.offsets)], often[begin : begin + len(mine.offsets)]
        begin += len(mine.offsets)
        proofs, why = len(each.proofs.offsets), each.why
        if why is None and not proofs and each.end >= log[0]:
            why = "the log has none of its records"
        if why is None and (right <= 0).any():
            why = f"at offset {int(mine.offsets[np.argmax(right <= 0)]):,} stands no record with the key that it names"
        if why is None and twice.any():
            why = f"the record at offset {int(mine.offsets[np.argmax(twice)]):,} is named more often than it has such a key"
        if why is None and stale_after is not None and each.end_time > stale_after:
            why = "it is newer than the checkpoint of a broker that was not stopped cleanly, or still ran when it was copied"
        found.append(replace(each, why=why))
        last.append(int(right[proofs - 1]) if proofs and int(each.proofs.offsets[-1]) == each.end else 0)
    return found, told.where(is_hit), last


def _joined(hits: Sequence[Hits]) -> Hits:
    return Hits(*(np.concatenate(parts) for parts in zip(*hits, strict=True)))


def _too_often(hits: Hits, keys: Numbers, is_hit: Mask) -> Mask:
    """Hits that name a record more often than it has keys of that hash. One of them was meant for another record with that key."""
    pairs = np.stack([hits.hashes, hits.offsets], axis=1)
    _, which = np.unique(pairs, axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), is_hit)
    found: Mask = is_hit & (counts[which.ravel()] > keys) & (keys > 0)
    return found


def _bounded(looked: Looked) -> Looked:
    """Drop the hits of a file that has too many of them to check during planning."""
    if len(looked.hits.offsets) <= _MOST_HITS:
        return looked
    return replace(
        looked, hits=looked.hits.where(np.zeros(len(looked.hits.offsets), np.bool_)), why=f"it names {len(looked.hits.offsets):,} records"
    )


def _stale_after(store: StoreFiles) -> int | None:
    """Index files that end after this time may be incomplete: a broker deletes them at startup. None if all are complete."""
    if is_live(store.uri) or storage_of(store.uri).entry(f"{store.uri}/abort") is None:
        return None
    return checkpoint_of(store.uri).indexed_time


def _uncovered(looked: Sequence[Looked], sizes: Sequence[int], log: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Offsets of the log where no file has all keys.

    Keys of a file's first and last record may be in the previous or next file. They are covered only if that file touches this one.
    """
    known: list[tuple[int, int]] = []
    touching: tuple[int, ...] = ()
    for each, size in sorted(zip(looked, sizes, strict=True), key=lambda pair: pair[0].begin):
        if each.why is None:
            start = known.pop()[0] if each.begin in touching else each.begin + 1
            known.append((start, each.end))
            touching = each.end, each.end + size
    reached = log[0]
    for start, stop in known:
        if reached < min(start, log[1]):
            yield reached, min(start, log[1])
        reached = max(reached, stop)
    if reached < log[1]:
        yield reached, log[1]


def _why_none(store: StoreFiles) -> str:
    if storage_of(store.uri).entry(f"{store.uri}/rocksdbstore") is not None:
        return "there are no index files, and where a broker keeps its index in RocksDB (indexRocksDBEnable) it is not read"
    return "there are no index files"
