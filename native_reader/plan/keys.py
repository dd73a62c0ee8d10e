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
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from native_reader.broker.settings import Topics
from native_reader.layout.index_entry import key_hash
from native_reader.layout.properties import KEYS_SEPARATOR
from native_reader.plan.claims import facts_of_topic
from native_reader.plan.planning import Planning
from native_reader.plan.ways import SCAN, TRUST
from native_reader.predicate.outcomes import NoneOf, Within, exactly, may_be_true
from native_reader.predicate.tree import (
    And,
    ArrayContains,
    ArraysOverlap,
    Column,
    Compare,
    In,
    Not,
    Or,
    Predicate,
    leaves,
    rewritten,
    values_of,
)
from native_reader.sentences import Said, say
from native_reader.sides.bounds import has_queues, topics_with_batches
from native_reader.sides.index import Hits, IndexFile, begin_of, index_files, search
from native_reader.sides.index_database import index_database, search_database
from native_reader.sides.queues import topics_in
from native_reader.sides.trusted import ABSENT, check_files, check_trusted_files
from native_reader.storage.protocol import map_files, storage_of
from native_reader.storage.store import StoreFiles
from native_reader.tuning import TUNING

BY_KEY = Said("index has all")
_LAST = 2**63 - 1
_OFFSET = Column("physical_offset")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_OFFSET_ID = re.compile("(?:[0-9A-F]{32}|[0-9A-F]{56})")


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """A predicate with the offsets where its rows may be, and the evidence for them."""

    predicate: Predicate
    hits: tuple[int, ...] = ()
    """Offsets of records with such a key, each one checked, to be read first."""
    missing: tuple[int, ...] = ()
    """Offsets inside the log that the index names for such a key, and where no record has it."""
    topics: int = 0
    files: int = 0
    """How many index files were searched, and the index in RocksDB as one."""
    in_database: bool = False
    """Whether the index in RocksDB is one of them."""
    may_lack_ids: bool = False
    """Whether messages without UNIQ_KEY may match. The index in RocksDB does not have them."""
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
    why: tuple[Said, ...] = ()
    """Why index files could not be used or trusted."""

    @property
    def is_sufficient(self) -> bool:
        """Whether almost nothing besides the hits must be read."""
        left = sum(stop - start for start, stop in self.uncovered)
        return (
            self.files > 0
            and left <= TUNING.small_rest
            and not (self.unknown_topics or self.batches or self.without_queues or self.prepared)
        )


def look_up_keys(store: StoreFiles, predicate: Predicate, planning: Planning, access: str, end: int) -> KeyLookup:
    """Combine the predicate with the index of a store whose log ends at `end`."""
    of_ids = rewritten(predicate, by_id)
    keys = sorted({key for leaf in leaves(predicate) for key in keys_of(leaf)})
    if access == SCAN or not keys:
        return KeyLookup(of_ids)
    may_match = partial(_may_match, store, predicate)
    files, database = _until(index_files(store.index, planning.max_hash_slot_num), may_match), index_database(store.uri)
    if not files and database is None:
        return KeyLookup(of_ids, why=(Said("index none"),))
    topics, log = _Candidates(store, predicate), (store.first_record, end)
    costs = storage_of(files[0].uri if files else store.uri).call_costs if access != TRUST else 0
    count = len(topics.names) * len(keys)
    hashing = 0 if count <= TUNING.few_hashes else count * TUNING.hash_costs
    if count * len(files) * TUNING.calls_per_lookup * costs + hashing > log[1] - log[0]:
        return KeyLookup(of_ids, why=(say("index too costly", files=len(files), topics=len(topics.names)),))
    hashes = {(topic, key): key_hash(topic, key) for topic in topics.names for key in keys}
    wanted = np.unique(np.fromiter(hashes.values(), np.int64, count))
    results = list(map_files(lambda file: search(file, wanted, log, costs), files))
    found = None if database is None else search_database(database, store.segments, hashes, None if access == TRUST else TUNING.most_hits)
    results += [] if found is None else [found]
    if not results:
        return KeyLookup(of_ids, why=(Said("index none"),))
    lookup = KeyLookup(of_ids, topics=len(topics.names), files=len(results), in_database=found is not None)
    if access == TRUST:
        evidence = check_trusted_files(store, results, planning.max_record_bytes)
    else:
        evidence = check_files(store, results, planning.max_record_bytes, log)
        may_lack_ids = any(map(_may_lack_id, leaves(predicate)))
        lookup = replace(
            lookup,
            may_lack_ids=may_lack_ids,
            uncovered=tuple(
                (start, stop)
                for start, stop in (evidence.uncovered_without_ids if may_lack_ids else evidence.uncovered)
                if may_match(start, stop - 1)
            ),
            unknown_topics=topics.may_be_unknown,
            batches=tuple(topics_with_batches(store, topics.names, topics.configured, end, by_records=not topics.may_be_unknown)),
            without_queues=tuple(name for name in topics.names if not any(has_queues(directory, name) for directory in store.queues)),
            prepared=tuple(_first_prepared(evidence.hits.where(evidence.checked.prepared), hashes)),
            why=evidence.why,
        )
    hits, checked = evidence.hits, evidence.checked
    is_missing = ((checked.sizes == 0) | (checked.sizes == ABSENT)) & (hits.offsets >= log[0]) & (hits.offsets < log[1])
    hit, missing = (tuple(np.unique(hits.offsets[which]).tolist()) for which in (checked.keys > 0, is_missing))
    lookup = replace(lookup, hits=hit, missing=missing)
    return replace(lookup, predicate=rewritten(of_ids, _RowsOfCondition(hits.where(checked.sizes != 0), hashes, topics.names, lookup).of))


def _until(files: list[IndexFile], may_match: Callable[[int, int], bool]) -> list[IndexFile]:
    """The files that begin before the last row, and the next one. They are in log order, so few headers are read.

    Those before the first row stay: a prepared message in them matters for all that follows it. If a header is wrong, more is read.
    """
    if may_match(_LAST, _LAST):
        return files

    def is_after(file: IndexFile) -> bool:
        begin = begin_of(file)
        return begin is not None and not may_match(begin, _LAST)

    return files[: bisect_left(files, True, key=is_after) + 1]


def _may_match(store: StoreFiles, predicate: Predicate, first: int, last: int) -> bool:
    """Whether records at these offsets may match."""
    return bool(may_be_true(predicate, {"store": exactly(store.uri), "physical_offset": Within(first, last)}))


def may_use_index(predicate: Predicate) -> bool:
    """Whether an index may have rows of that predicate, which then come first."""
    return any(keys_of(leaf) or offsets_of(leaf) for leaf in leaves(predicate))


class _Candidates:
    """The topics whose messages may match. `may_be_unknown`: topics that are in no queue or configuration may match too."""

    def __init__(self, store: StoreFiles, predicate: Predicate) -> None:
        facts = {"store": exactly(store.uri)}
        named = {name for leaf in leaves(predicate) for name in values_of(leaf, "topic") if isinstance(name, str)}
        named = {name for name in named if _REPLACEMENT not in name}  # which stands for any invalid bytes, so it has no hash
        self.configured = Topics(store.config)
        self.may_be_unknown = bool(may_be_true(predicate, {**facts, "topic": NoneOf(tuple(named))}))
        if self.may_be_unknown:
            named |= {*(topic.name for topic in topics_in(store.queues)), *self.configured.names()}
        possible = (name for name in named if _REPLACEMENT not in name and may_be_true(predicate, {**facts, **facts_of_topic(name)}))
        self.names = sorted(possible)


class _RowsOfCondition:
    """Where the rows of one condition may be."""

    def __init__(self, hits: Hits, hashes: dict[tuple[str, str], int], names: Sequence[str], lookup: KeyLookup) -> None:
        self._hits, self._hashes, self._names = hits, hashes, names
        self._elsewhere: list[Predicate] = [
            And((Compare(_OFFSET, ">=", start), Compare(_OFFSET, "<", stop))) for start, stop in lookup.uncovered
        ]
        if lookup.unknown_topics:
            self._elsewhere.append(Not(In(Column("topic"), tuple(names))))
        if lookup.batches or lookup.without_queues:
            self._elsewhere.append(In(Column("topic"), (*lookup.batches, *lookup.without_queues)))
        for topic, offset in lookup.prepared:
            self._elsewhere.append(And((Compare(Column("topic"), "=", topic), Compare(_OFFSET, ">", offset))))

    def of(self, leaf: Predicate) -> Predicate | None:
        keys = keys_of(leaf)
        if not keys:
            return None
        wanted = np.array([self._hashes[topic, key] for topic in self._names for key in keys], np.int64)
        offsets = np.unique(self._hits.offsets[np.isin(self._hits.hashes, wanted)])
        return Or((at_offsets((*offsets.tolist(), *offsets_of(leaf))), *self._elsewhere))


def keys_of(leaf: Predicate) -> tuple[str, ...]:
    """Keys of which a matching row must have at least one; empty if the index does not help."""
    match leaf:
        case ArrayContains(Column("keys", None), key):
            values: tuple[object, ...] = (key,)
        case ArraysOverlap(Column("keys", None), keys):
            values = keys
        case Compare(Column("properties", "UNIQ_KEY"), "=", key):
            values = (key,)
        case In(Column("properties", "UNIQ_KEY"), keys):
            values = keys
        case Compare(Column("properties", "KEYS"), "=", str(words)):
            values = (max(words.split(KEYS_SEPARATOR), key=len),)
        case _:
            values = values_of(leaf, "uniq_key", "msg_id")
    usable = tuple(key for key in values if isinstance(key, str) and key and _REPLACEMENT not in key)
    return usable if len(usable) == len(values) else ()


def by_id(leaf: Predicate) -> Predicate | None:
    """Where rows with given offset message ids may be: the id encodes the offset; an invalid id matches nothing."""
    return at_offsets(offsets_of(leaf)) if values_of(leaf, "offset_msg_id") else None


def offsets_of(leaf: Predicate) -> tuple[int, ...]:
    """The offsets encoded in the message ids of a condition."""
    texts = values_of(leaf, "msg_id", "offset_msg_id")
    offsets = (int(text[-16:], 16) for text in texts if isinstance(text, str) and _OFFSET_ID.fullmatch(text))
    return tuple(offset for offset in offsets if offset < 2**63)


def at_offsets(offsets: Sequence[int]) -> Predicate:
    """The condition that a record is at one of these offsets."""
    return In(_OFFSET, tuple(offsets))


def _first_prepared(hits: Hits, hashes: dict[tuple[str, str], int]) -> Iterator[tuple[str, int]]:
    """Topics with such hits, and the offset of the first hit of each."""
    if len(hits.offsets):  # only in stores of brokers 4.0 to 4.2
        for topic in sorted({topic for topic, _ in hashes}):
            of_topic = np.isin(hits.hashes, [hashed for (name, _), hashed in hashes.items() if name == topic])
            if of_topic.any():
                yield topic, int(hits.offsets[of_topic].min())


def _may_lack_id(leaf: Predicate) -> bool:
    """Whether the condition is on KEYS, which a message without UNIQ_KEY can have."""
    match leaf:
        case ArrayContains(Column("keys", None)) | ArraysOverlap(Column("keys", None)) | Compare(Column("properties", "KEYS"), "="):
            return True
    return False
