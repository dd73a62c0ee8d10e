"""Answers from a summary: which segments it covers, what a predicate may match there, and where those records are.

A part knows every record of its segment. So what it does not name cannot match, and queues, index files and store times of heads are
not asked. What it does not cover is read as if there were no summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from native_reader.layout.arrays import is_among
from native_reader.layout.index_entry import text_hash
from native_reader.layout.record import SMALLEST_RECORD, Index, Mask, Numbers
from native_reader.plan.claims import ORIGINS, facts_of_topic
from native_reader.plan.estimate import Costs, costs_of_positions
from native_reader.plan.keys import at_offsets, by_id, keys_of, offsets_of
from native_reader.plan.planning import Planning
from native_reader.plan.ways import ALONE, SCAN, SUMMARY, BySummary
from native_reader.predicate.outcomes import Known, NoneOf, Within, exactly, may_be_true, mentions, without_certain
from native_reader.predicate.tree import Predicate, leaves, rewritten, values_of
from native_reader.sentences import Said, say
from native_reader.storage.paths import uri_of
from native_reader.storage.protocol import map_files, storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.summary.part import GROUPS, NAME, Part, read_part
from native_reader.summary.pieces import Unfit, reading_part
from native_reader.summary.texts import TEXTS

OF_GROUPS = ("store", "segment", "topic", "queue_id")
OF_RECORDS = ("physical_offset", "queue_offset", "store_timestamp", "record_size", "sys_flag", "kind", "inner_index")
"""The columns that a part knows: those with one value in each group, and those of each record."""
_NARROWED = ("topic", "kind", *ORIGINS, "queue_id", "queue_offset", "store_timestamp")
_OF_GROUP = GROUPS.names[1:]
_SLICES = 16
_MOST_GROUPS = 2_000
_MOST_PLACES = 1_000
_MOST_OFFSET = 2**63 - 1
_MOST_MILLISECONDS = 2**62 // 1000
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Covered(NamedTuple):
    """How a segment with a part is read. `uri`: its part. `access`: ALONE, SUMMARY, or SCAN if that costs less; None if nothing can match.

    `records`, `bytes`: about how many are read. `places`: where, if each has a wanted key, and they are few.
    """

    uri: str
    access: str | None
    records: int
    bytes: int
    costs: Costs
    places: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Summarized:
    """What a summary covers of one store. `segments`: by first offset. `why`: why it does not cover the others."""

    segments: Mapping[int, Covered] = field(default_factory=dict)
    why: tuple[Said, ...] = ()


NOT_SUMMARIZED = Summarized()


class Parts:
    """The parts in a folder that are named after some segments."""

    def __init__(self, uris: Mapping[str, Sequence[str]]) -> None:
        self._uris = uris

    def part_of(self, segment: Segment) -> Part:
        """The part that fits a segment. Raises Unfit: why none does."""
        reason = Unfit("no part")
        for uri in self._uris.get(segment.name, ()):
            try:
                return read_part(uri, segment)
            except Unfit as unfit:
                reason = unfit
        raise reason

    def has_current(self, segment: Segment) -> bool:
        """Whether a segment needs no new part. One with damage has a part without records."""
        try:
            part = self.part_of(segment)
            part.check_files()
        except Unfit as unfit:
            return unfit.why == "damage"
        return True


def parts_in(folder: str, segments: Sequence[Segment]) -> Parts:
    """The parts of these segments. A folder that cannot be listed has none."""
    names, uris = {segment.name for segment in segments}, dict[str, list[str]]()
    try:
        entries = storage_of(folder).list(folder)
    except OSError:
        entries = []
    for entry in entries:
        found = NAME.fullmatch(entry.name)
        if entry.is_file and found is not None and found[1] in names:
            uris.setdefault(found[1], []).append(f"{folder}/{entry.name}")
    return Parts(uris)


def summarized(store: StoreFiles, predicate: Predicate, planning: Planning, end: int) -> Summarized:
    """What the summary of a read covers of a store whose log ends at `end`."""
    if planning.summary is None or planning.access == SCAN:
        return NOT_SUMMARIZED
    if planning.compares:
        return Summarized(why=(Said("compares all"),))
    may_know = knows(planning.returned, predicate)
    if not (may_know or mentions(predicate, *_NARROWED) or any(map(keys_of, leaves(predicate)))):
        return Summarized(why=(Said("no condition of summary"),))
    full = [segment for segment in store.segments[:-1] if segment.end <= end and not segment.is_packed]
    parts, topics = parts_in(uri_of(planning.summary), full), WantedTopics(store.uri, predicate)
    found = map_files(partial(_covered, parts, topics, planning), full)
    why = Counter(each for each in found if isinstance(each, str))
    lines = tuple(say("segments not summarized", segments=count, why=Said(f"unfit {reason}")) for reason, count in why.most_common())
    return Summarized({segment.base: each for segment, each in zip(full, found, strict=True) if isinstance(each, Covered)}, lines)


def knows(returned: Collection[str] | None, predicate: Predicate, texts: Collection[str] = TEXTS) -> bool:
    """Whether a part with these texts has all columns that a read returns or has conditions on."""
    return returned is not None and {*returned, *(column.name for column in predicate.columns())} <= {*OF_GROUPS, *OF_RECORDS, *texts}


def facts_of_segment(store: str, segment: Segment) -> dict[str, Known]:
    """What all records of a segment have in common."""
    return {"store": exactly(store), "segment": exactly(segment.name), "physical_offset": Within(segment.base, segment.end - 1)}


class WantedTopics:
    """What a predicate says of a store's topics, each asked once."""

    def __init__(self, store: str, predicate: Predicate) -> None:
        self.predicate = predicate
        self.without_keys = rewritten(predicate, lambda leaf: at_offsets(()) if keys_of(leaf) or by_id(leaf) is not None else None)
        self.has_keys = self.without_keys != predicate
        self.needs_key = self.has_keys and not may_be_true(
            self.without_keys, {"store": exactly(store), "physical_offset": Within(0, _MOST_OFFSET)}
        )
        """Whether each row has one of the keys or ids."""
        named = {name for leaf in leaves(predicate) for name in values_of(leaf, "topic") if isinstance(name, str)}
        others = may_be_true(predicate, {"store": exactly(store), "topic": NoneOf(tuple(named))})
        self._named = None if others else named
        """The only topics that can match; None if others can."""
        self._has_ranges = mentions(predicate, "physical_offset", "store_timestamp")
        self.has_others = self._has_ranges or mentions(predicate, "segment", "queue_id", "queue_offset")
        """Whether what a part knows of records of one topic can make a difference."""
        self._store, self._known = store, dict[bytes, dict[str, Known] | None]()
        self._answers, self._facts = dict[tuple[bytes, bool], bool](), dict[str, dict[str, Known]]()
        self._narrower = dict[Predicate, WantedTopics]()

    def within(self, segment: Segment) -> WantedTopics:
        """The same, without the conditions that all records of a segment fulfil."""
        predicate = without_certain(self.predicate, self.facts(segment))
        if predicate is self.predicate:
            return self
        if predicate not in self._narrower:
            self._narrower[predicate] = WantedTopics(self._store, predicate)
        return self._narrower[predicate]

    def facts(self, segment: Segment) -> dict[str, Known]:
        """What all records of a segment have in common."""
        if segment.uri not in self._facts:
            self._facts[segment.uri] = facts_of_segment(self._store, segment)
        return self._facts[segment.uri]

    def facts_of(self, topic: bytes) -> dict[str, Known] | None:
        """What the messages of a topic have in common; None if none can match."""
        if topic not in self._known:
            name = topic.decode("utf-8", "replace")
            if _REPLACEMENT in name:
                self._known[topic] = self._possible({})
            else:
                is_other = self._named is not None and name not in self._named
                self._known[topic] = None if is_other else self._possible(facts_of_topic(name))
        return self._known[topic]

    def _possible(self, facts: dict[str, Known]) -> dict[str, Known] | None:
        return facts if may_be_true(self.predicate, {"store": exactly(self._store), **facts}) else None

    def may_match(self, group: Group, segment: Segment, *, without_keys: bool = False) -> bool:
        """Whether records of a group may match; `without_keys`: those that have none of the keys."""
        place = group.topic, without_keys
        if self.has_others or place not in self._answers:
            predicate = self.without_keys if without_keys else self.predicate
            self._answers[place] = bool(may_be_true(predicate, {**self.facts(segment), **group.facts, **group.time_facts}))
        return self._answers[place]

    def share(self, group: Group, segment: Segment) -> float:
        """About which share of the records of a group may match without the keys."""
        if not self.may_match(group, segment, without_keys=True):
            return 0.0
        if not self._has_ranges:
            return 1.0
        return float(np.mean(may_be_true(self.without_keys, {**self.facts(segment), **group.facts, **group.slices(segment)})))


def _covered(parts: Parts, every: WantedTopics, planning: Planning, segment: Segment) -> Covered | str:
    topics = every.within(segment)
    try:
        part = parts.part_of(segment)
        if part.facts.largest > planning.max_record_bytes:
            raise Unfit("large")
        if topics.needs_key:
            return _covered_by_key(part, topics, segment)
        groups = groups_of(part, topics)
        if len(groups) > _MOST_GROUPS:
            raise Unfit("many")
    except Unfit as unfit:
        return unfit.why
    is_known = knows(planning.returned, topics.predicate, part.facts.texts)
    if is_known and (alone := _covered_alone(part, groups, topics, segment)) is not None:
        return alone
    records, size, may_match = 0.0, 0.0, False
    for group in groups:
        share = topics.share(group, segment)
        may_match = may_match or share > 0 or (topics.has_keys and topics.may_match(group, segment))
        records, size = records + share * group.records, size + share * group.bytes
    costs = costs_of_positions(segment.uri, segment.size, part.facts.records, records, size)
    access = None if not may_match else SCAN if costs.favor_scan else SUMMARY
    return Covered(f"{part.uri}.groups.parquet", access, round(records), round(size), costs)


def _covered_by_key(part: Part, topics: WantedTopics, segment: Segment) -> Covered:
    """How a segment is read if each row has one of some keys: the part says now which records have one."""
    hits = _hits(part, topics, segment)
    groups = [group for group in _groups_with(part, hits, topics) if topics.may_match(group, segment)]
    found = sum(len(_rows_of(group, hits, topics, segment)) for group in groups)
    mean = part.facts.record_bytes / max(1, part.facts.records)
    costs = costs_of_positions(segment.uri, segment.size, part.facts.records, found, mean * found)
    access = None if not found else SCAN if costs.favor_scan else SUMMARY
    places = None
    if access == SUMMARY and found <= _MOST_PLACES:  # the read need not open the part again
        positions, sizes = _records_of(part, groups, hits, topics, segment)
        places, found = (*positions.tolist(), *sizes.tolist()), len(positions)
    return Covered(f"{part.uri}.groups.parquet", access if found else None, found, round(mean * found), costs, places)


def _covered_alone(part: Part, groups: Sequence[Group], topics: WantedTopics, segment: Segment) -> Covered | None:
    """How a segment is read if its part has all wanted columns; None if too many records must be read all the same."""
    wanted = [group for group in groups if topics.may_match(group, segment)]
    rest = [group for group in wanted if not group.is_known]
    records, size = (sum(each) for each in zip((0, 0), *((group.records, group.bytes) for group in rest), strict=True))
    costs = costs_of_positions(segment.uri, segment.size, part.facts.records, records, size + part.facts.files["records"].size)
    if rest and costs.favor_scan:
        return None
    return Covered(f"{part.uri}.groups.parquet", ALONE if wanted else None, records, size, costs)


class Group(NamedTuple):
    """The records of one topic and queue. `first`: their first row."""

    facts: dict[str, Known]
    topic: bytes
    queue_id: int
    first: int
    records: int
    bytes: int
    opaque: int
    keyless: int
    times: tuple[int, int]

    @property
    def is_known(self) -> bool:
        """Whether the part has the columns of all its records: none is a batch, and the name is valid UTF-8."""
        return not self.opaque and _REPLACEMENT not in self.topic.decode("utf-8", "replace")

    @property
    def time_facts(self) -> dict[str, Known]:
        """What its store times have in common."""
        low, high = self.times
        is_known = -_MOST_MILLISECONDS <= low <= high <= _MOST_MILLISECONDS
        return {"store_timestamp": Within(low * 1000, high * 1000, nullable=True)} if is_known else {}

    def slices(self, segment: Segment) -> dict[str, Known]:
        """Facts about the records in each of some slices of the segment, if they are spread evenly over it and its times: to estimate."""
        edges = [segment.base + segment.size * each // _SLICES for each in range(_SLICES + 1)]
        facts: dict[str, Known] = {"physical_offset": Within(np.array(edges[:-1]), np.array(edges[1:]))}
        low, high = self.times
        if -_MOST_MILLISECONDS <= low <= high <= _MOST_MILLISECONDS:
            times = np.array([low * 1000 + (high - low) * 1000 * each // _SLICES for each in range(_SLICES + 1)], np.int64)
            facts["store_timestamp"] = Within(times[:-1], times[1:], nullable=True)
        return facts


def _groups_with(part: Part, hits: Numbers, topics: WantedTopics) -> list[Group]:
    """Of the groups whose topics may match, those that have these rows, and those with records whose keys are not known."""
    odd = np.flatnonzero(part.groups["keyless"])
    return groups_of(part, topics, np.union1d(odd, np.searchsorted(part.groups.ends, hits, side="right")))


def groups_of(part: Part, topics: WantedTopics, among: Index | None = None) -> list[Group]:
    """The groups whose topics may match. `among`: only of these groups."""
    groups = part.groups
    among = np.arange(len(groups)) if among is None else among
    asked = np.unique(groups.topics[among])
    wanted = asked[[topics.facts_of(groups.names[topic]) is not None for topic in asked.tolist()]] if len(asked) else asked
    chosen = among[is_among(groups.topics[among], wanted)]
    return [_group(topics, *row) for row in groups.rows(chosen, _OF_GROUP)]


def _group(topics: WantedTopics, topic: bytes, first: int, *of_group: int) -> Group:
    queue_id, records, size, opaque, keyless, first_time, last_time, first_offset, last_offset = of_group
    facts = {**(topics.facts_of(topic) or {}), "queue_id": exactly(queue_id)}
    if not opaque:  # the messages of an inner batch have numbers of their own
        facts["queue_offset"] = Within(first_offset, last_offset)
    return Group(facts, topic, queue_id, first, records, size, opaque, keyless, (first_time, last_time))


def records_wanted(way: BySummary, store: str, segment: Segment, predicate: Predicate) -> tuple[Numbers, Numbers]:
    """The positions and sizes of the records of a segment that may match, in log order. Raises Unfit if its part changed since the plan.

    With ALONE, only of the groups that are not known completely.
    """
    part, topics = read_part(way.part, segment), WantedTopics(store, predicate)
    hits = _hits(part, topics, segment)
    groups = _groups_with(part, hits, topics) if topics.needs_key else groups_of(part, topics)
    return _records_of(part, [each for each in groups if not (way.access == ALONE and each.is_known)], hits, topics, segment)


def _records_of(part: Part, groups: Sequence[Group], hits: Numbers, topics: WantedTopics, segment: Segment) -> tuple[Numbers, Numbers]:
    """The positions and sizes of the records of these groups that may match, in log order."""
    asked = [(group, rows) for group in groups if len(rows := _rows_of(group, hits, topics, segment))]
    if not asked:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    every = np.concatenate([rows for _, rows in asked])
    with reading_part():
        if not (topics.has_others or topics.has_keys):  # all records of a topic are alike
            positions, sizes = part.records_at(every, "position", "size")
            return _in_order(positions, sizes, segment)
        positions, sizes, times = part.records_at(every, "position", "size", "time")
    chosen = np.zeros(len(every), np.bool_)
    begin = 0
    for group, rows in asked:
        each = slice(begin, begin := begin + len(rows))
        chosen[each] = _may_match(group, topics, segment, (positions[each], times[each]), is_among(rows, hits))
    return _in_order(positions[chosen], sizes[chosen], segment)


def _in_order(positions: Numbers, sizes: Numbers, segment: Segment) -> tuple[Numbers, Numbers]:
    order = np.argsort(positions, kind="stable")
    return inside(positions[order], sizes[order], segment)


def _hits(part: Part, topics: WantedTopics, segment: Segment) -> Numbers:
    """The rows of records that may have one of the wanted keys or ids."""
    if not topics.has_keys:
        return np.empty(0, np.int64)
    keys = {key for leaf in leaves(topics.predicate) for key in keys_of(leaf)}
    with reading_part():
        hits = part.rows_with(np.array([text_hash(key) for key in keys], np.int64))
        begin = segment.base + segment.frame
        offsets = [offset - begin for leaf in leaves(topics.predicate) for offset in offsets_of(leaf) if begin <= offset < segment.end]
        if offsets:  # an id of this segment
            (positions,) = part.records_at(np.arange(part.facts.records), "position")
            hits = np.union1d(hits, np.flatnonzero(np.isin(positions, offsets)))
    return hits


def _rows_of(group: Group, hits: Numbers, topics: WantedTopics, segment: Segment) -> Numbers:
    """The rows of a group that are looked at."""
    stop = group.first + group.records
    if not group.keyless and topics.has_keys and not topics.may_match(group, segment, without_keys=True):
        return hits[np.searchsorted(hits, group.first) : np.searchsorted(hits, stop)]
    return np.arange(group.first, stop)


def _may_match(group: Group, topics: WantedTopics, segment: Segment, of_records: tuple[Numbers, Numbers], is_hit: Mask) -> Mask:
    """Which of these records of a group may match. `of_records`: their positions and times."""
    positions, times = of_records
    facts: dict[str, Known] = {**topics.facts(segment), **group.facts, "physical_offset": exactly(positions + segment.base + segment.frame)}
    if len(times) and -_MOST_MILLISECONDS <= times.min() <= times.max() <= _MOST_MILLISECONDS:
        facts["store_timestamp"] = Within(times * 1000, times * 1000, nullable=True)
    chosen = may_be_true(topics.predicate, facts)
    if topics.has_keys and not group.keyless:
        chosen = np.where(is_hit, chosen, may_be_true(topics.without_keys, facts))
    result: Mask = np.broadcast_to(chosen, len(positions))
    return result


def inside(positions: Numbers, sizes: Numbers, segment: Segment) -> tuple[Numbers, Numbers]:
    """The same, if records can be there: one after the other, inside the segment."""
    ends = positions + sizes + segment.frame
    if len(positions) and (
        sizes.min() < SMALLEST_RECORD or positions[0] < 0 or ends[-1] > segment.size or (ends[:-1] > positions[1:]).any()
    ):
        raise Unfit("contradiction")
    return positions, sizes
