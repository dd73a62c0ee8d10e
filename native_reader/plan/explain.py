"""Explains what a scan will read, what it skips, and why, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from native_reader.kernel import kernel_info
from native_reader.plan.estimate import SEARCHED, AccessPath, is_too_small
from native_reader.plan.keys import BY_KEY, KeyLookup
from native_reader.plan.plan import Plan
from native_reader.plan.split import Split
from native_reader.plan.summarized import Summarized
from native_reader.plan.ways import ALONE, AUTO, SCAN, SUMMARY, TRUST
from native_reader.predicate.outcomes import mentions
from native_reader.storage.store import StoreFiles
from native_reader.text import counted, names_of, size_of

BIG = 1 << 30
"""A scan of at least this many bytes gets a hint."""
HINT = "add a condition on topic, keys, store_timestamp or physical_offset to read less"
_MOMENTS = ("store_timestamp", "born_timestamp")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a scan as text (`str`) and as a dict (`to_dict`). Numbers about queues are estimates from samples.

    Attributes:
        stores: The stores that are read.
        plan: The splits, and the end of each log.
        zone: The zone of times that are written without one.
        doubts: Topics, queues and ids in the conditions that the stores do not have.

    Examples:
        >>> explanation = store.messages(where="physical_offset < 10000").explain()
        >>> explanation.to_dict()["bytes_to_scan"]
        10000
    """

    stores: tuple[StoreFiles, ...]
    plan: Plan
    zone: str | None = None
    doubts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Build a dict of the plan, for programs."""
        plan = self.plan
        return {
            "stores": [store.uri for store in self.stores],
            "predicate": str(plan.wanted.rows),
            "time_zone": self.zone,
            "doubts": list(self.doubts),
            "segments": sum(len(store.segments) for store in self.stores),
            "splits": len(plan.splits),
            "bytes_to_scan": plan.bytes_to_scan,
            "bytes_to_prune": plan.bytes_to_prune,
            "bytes_skipped": plan.bytes_skipped,
            "ways": [self._way(uri, way) for uri, way in plan.ways],
            "skipped": [{"why": why, "segments": len(sizes), "bytes": sum(sizes)} for why, sizes in sorted(self._skipped().items())],
            "ends": dict(plan.ends),
            "gaps": [[gap.store, gap.start, gap.stop] for gap in plan.gaps],
            "stale": dict(plan.stale),
            "kernel": kernel_info()._asdict(),
        }

    def _lookup(self, uri: str) -> KeyLookup | None:
        """The index lookup of a store, if the index was used or should have been."""
        lookup = dict(self.plan.lookups).get(uri)
        return lookup if lookup is not None and (lookup.files or lookup.why) else None

    def _way(self, uri: str, way: AccessPath) -> dict[str, Any]:
        summary = dict(self.plan.summaries).get(uri)
        covered = {} if summary is None else summary.segments
        splits = [split for split in self.plan.splits if split.store == uri and split.segment.base not in covered]
        whole = [split for split in splits if _is_read_whole(split, way)]
        return {
            "store": uri,
            "access": way.access,
            "listed": way.listed,
            "why": way.why,
            "segments": len({split.segment.base for split in splits}),
            "bytes": sum(split.written for split in splits),
            "bytes_read_whole": sum(split.written for split in whole),
            "bytes_by_queue": sum(split.written for split in splits if split.access != SCAN) - sum(split.written for split in whole),
            "topics": way.topics,
            "queues": way.queues,
            "entries": way.entries,
            "entries_wanted": way.wanted,
            "bytes_wanted": way.bytes,
            "costs": None if way.costs is None else way.costs._asdict(),
            "summary": None if summary is None else _summary(summary, [split for split in self.plan.splits if split.store == uri]),
            "index": None if (lookup := self._lookup(uri)) is None else _index(lookup),
        }

    def _inside(self) -> str:
        """Which condition excludes parts of segments."""
        if any(lookup.files for _, lookup in self.plan.lookups):
            return "key"
        return "store time" if mentions(self.plan.wanted.rows, "store_timestamp") else "physical offset"

    def _skipped(self) -> dict[str, list[int]]:
        sizes: dict[str, list[int]] = {}
        for segment, why in self.plan.skipped:
            sizes.setdefault(why, []).append(segment.size)
        return sizes

    def _skips_inside(self) -> bool:
        return self.plan.bytes_skipped > sum(segment.size for segment, _ in self.plan.skipped)

    def lines(self) -> Iterator[str]:
        """Write the text, line by line."""
        facts = self.to_dict()
        yield f"messages where {facts['predicate']}"
        if self.zone is not None and mentions(self.plan.wanted.rows, *_MOMENTS):
            yield f" times without a time zone are in {self.zone}"
        yield from (f" note: {doubt}" for doubt in self.doubts)
        for store, way in zip(self.stores, facts["ways"], strict=True):
            yield f" {store.uri}: {counted(len(store.segments), 'segment')}, {size_of(sum(segment.size for segment in store.segments))}"
            yield from self._of_store(way)
        for fact in facts["skipped"]:
            yield f"  not read   {size_of(fact['bytes'])} in {counted(fact['segments'], 'segment')}, excluded by {fact['why']}"
        if inside := self.plan.bytes_skipped - sum(fact["bytes"] for fact in facts["skipped"]):
            yield f"  not read   {size_of(inside)} inside segments, excluded by {self._inside()}"
        for uri, size in self.plan.stale:
            yield f"  not read   {stale_text(uri, size)}"
        for gap in self.plan.gaps:
            where = f"offsets {gap.start:,} to {gap.stop:,} ({gap.stop - gap.start:,} bytes) of {gap.store}"
            yield f"  missing    {where}: no file contains them{gap.how_to_get_back and '. '}{gap.how_to_get_back}"
        yield f" kernel: {kernel_info()}"

    @staticmethod
    def _of_store(way: dict[str, Any]) -> Iterator[str]:
        yield from _of_summary(way["summary"])
        if way["summary"] is not None and not way["segments"]:
            return
        yield from _of_index(way["index"], way["why"] == SEARCHED)
        where = f"{size_of(way['bytes'])} in {counted(way['segments'], 'segment')}"
        if way["why"] == BY_KEY:
            return
        if way["access"] == SCAN:
            yield f"  by scan    {where}" + (f": {way['why']}" if way["why"] else "")
            yield from _of_costs(way["costs"])
            if way["bytes"] >= BIG:
                yield f"             {HINT}"
            return
        matching = f"about {way['entries_wanted']:,} ({size_of(way['bytes_wanted'])}) match"
        entries = f"{counted(way['queues'], 'queue')} with {way['entries']:,} entries; {matching}"
        if way["bytes_read_whole"]:
            why = f"in small parts, for which searching the queues of {counted(way['topics'], 'topic')} would cost more"
            if not way["bytes_by_queue"]:
                yield f"  by scan    {where}, {why}"
                return
            yield f"  by scan    {size_of(way['bytes_read_whole'])} {why}"
            where = size_of(way["bytes_by_queue"])
        yield f"  by queue   {way['why'] or entries}"
        yield from _of_costs(way["costs"])
        if way["access"] == TRUST:
            of = "rows are made from these entries" if way["listed"] else "only records in these queues are read"
            yield f"             access=trust: {of}, of {where}"
        elif way["listed"]:
            yield f"  no queue   of {where}, only bytes in no consume queue are read, and records of inner batches"
        else:
            yield f"  no queue   of {where}, only bytes in no consume queue are scanned:"
            yield "             they may contain records of a deleted topic, or records not yet in a queue. access=trust skips them"

    def _read_whole(self) -> int:
        """The bytes in splits that are too small for the queues."""
        ways = dict(self.plan.ways)
        return sum(split.written for split in self.plan.splits if split.store in ways and _is_read_whole(split, ways[split.store]))

    def _wanted_by_summary(self) -> str:
        covered = (each for _, summary in self.plan.summaries for each in summary.segments.values() if each.access == SUMMARY)
        return f"about {size_of(sum(each.bytes for each in covered))}"

    def _by_queue(self, bytes_to_prune: int) -> str:
        """What is read of the splits that use queues, in a few words."""
        whole, paths = size_of(bytes_to_prune), [path for _, path in self.plan.ways if path.access != SCAN]
        is_trusted = any(path.access == TRUST for path in paths)
        if all(path.life == (0, 0) for path in paths):
            return f"no consume queue matches; of {whole}, reads {'nothing' if is_trusted else 'only the bytes in no consume queue'}"
        matching = sum(path.bytes for path in paths)
        about = f"about {size_of(matching)}" if matching else "the matching records"
        return f"reads {about} of {whole} by consume queue, and {'nothing else' if is_trusted else 'the bytes in no consume queue'}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def remarks(self, tasks: int) -> Iterator[str]:
        """Write the lines that a read should print: what it does not read, and a summary if it is large or skips something.

        Args:
            tasks: How many tasks the read has.
        """
        yield from (f"not read: {stale_text(uri, size)}" for uri, size in self.plan.stale)
        if self.plan.bytes_to_scan >= BIG or self.plan.bytes_to_prune or self.plan.bytes_skipped:
            yield self.in_short(tasks)

    def in_short(self, tasks: int) -> str:
        """Write a summary of one line.

        Args:
            tasks: How many tasks the read has.
        """
        plan = self.plan
        stores = [store.uri for store in self.stores]
        where = stores[0] if len(stores) == 1 else f"{len(stores)} stores"
        parts = []
        lookups = [lookup for _, lookup in plan.lookups if lookup.files]
        if lookups:
            parts.append(f"finds {counted(sum(len(lookup.hits) for lookup in lookups), 'record')} by key")
        small = self._read_whole()
        if plan.bytes_to_scan + small and not all(way.why == BY_KEY for _, way in plan.ways):
            parts.append(f"scans {size_of(plan.bytes_to_scan + small)}")
        by_summary, alone = (sum(split.written for split in plan.splits if split.access == each) for each in (SUMMARY, ALONE))
        if by_summary:
            parts.append(f"reads {self._wanted_by_summary()} of {size_of(by_summary)} by summary")
        if alone:
            parts.append(f"knows all of {size_of(alone)} by summary")
        if plan.bytes_to_prune > small + by_summary + alone:
            parts.append(self._by_queue(plan.bytes_to_prune - small - by_summary - alone))
        if plan.bytes_skipped:
            why = ", ".join(sorted({*self._skipped(), *([self._inside()] if self._skips_inside() else [])}))
            parts.append(f"skips {size_of(plan.bytes_skipped)} by {why}")
        segments = len({split.segment for split in plan.splits})
        place = f"{where} ({counted(segments, 'segment')}, {counted(tasks, 'task')})"
        line = f"{place}: {'; '.join(parts) or 'reads nothing'}"
        unpruned = plan.bytes_to_scan >= BIG and not plan.bytes_to_prune and not plan.bytes_skipped
        return f"{line}; {HINT}" if unpruned else line


def _is_read_whole(split: Split, way: AccessPath) -> bool:
    """Whether a split that may use queues is too small for it."""
    return split.access == AUTO and is_too_small(split.segment.uri, split.written, way.topics)


def _summary(summary: Summarized, splits: list[Split]) -> dict[str, Any]:
    covered = summary.segments.values()
    fetched = [each for each in covered if each.access != ALONE]
    by_summary = [split for split in splits if split.access == SUMMARY]
    scanned = [split for split in splits if split.access == SCAN and split.segment.base in summary.segments]
    return {
        "segments": len(covered),
        "bytes": sum(split.written for split in by_summary),
        "bytes_known": sum(split.written for split in splits if split.access == ALONE),
        "records_wanted": sum(each.records for each in covered if each.access == SUMMARY),
        "bytes_wanted": sum(each.bytes for each in covered if each.access == SUMMARY),
        "segments_scanned": len(scanned),
        "bytes_scanned": sum(split.written for split in scanned),
        "costs": {name: sum(getattr(each.costs, of) for each in fetched) for name, of in (("scan", "scan"), ("summary", "queues"))},
        "not_used": list(summary.why),
    }


def _of_summary(summary: dict[str, Any] | None) -> Iterator[str]:
    if summary is None:
        return
    if summary["bytes_known"]:
        yield f"  by summary {size_of(summary['bytes_known'])}, without reading the log: it has all columns of this read"
    if summary["segments"] and (summary["bytes"] or not summary["bytes_known"]):
        wanted = summary["records_wanted"]
        matching = f"about {counted(wanted, 'record')} ({size_of(summary['bytes_wanted'])}) {'matches' if wanted == 1 else 'match'}"
        yield f"  by summary {size_of(summary['bytes'])}; the summary covers {counted(summary['segments'], 'segment')}; {matching}"
        costs = summary["costs"]
        yield f"             estimated cost: scan {size_of(costs['scan'])}, summary {size_of(costs['summary'])}"
    if summary["segments_scanned"]:
        where = f"{size_of(summary['bytes_scanned'])} in {counted(summary['segments_scanned'], 'segment')} of the summary"
        yield f"  by scan    {where}, where fetching what matches would cost more"
    for why in summary["not_used"]:
        yield f"  no summary {why}"


def stale_text(uri: str, size: int) -> str:
    """The text for old records after the end of a log, which are not read."""
    return f"{size_of(size)} of old records after the end of the log of {uri}, which a broker discarded. Set tail=all to read them"


def _of_costs(costs: dict[str, int] | None) -> Iterator[str]:
    if costs is not None:
        yield f"             estimated cost: scan {size_of(costs['scan'])}, queues {size_of(costs['queues'])}"


def _index(lookup: KeyLookup) -> dict[str, Any]:
    return {
        "files": lookup.files,
        "in_database": lookup.in_database,
        "may_lack_ids": lookup.may_lack_ids,
        "topics": lookup.topics,
        "records": len(lookup.hits),
        "bytes_not_known": sum(stop - start for start, stop in lookup.uncovered),
        "unknown_topics": lookup.unknown_topics,
        "topics_with_batches": list(lookup.batches),
        "topics_without_queues": list(lookup.without_queues),
        "prepared": [list(each) for each in lookup.prepared],
        "why": list(lookup.why),
    }


def _of_index(index: dict[str, Any] | None, reads_all: bool) -> Iterator[str]:
    if index is None:
        return
    if index["files"]:
        files = index["files"] - index["in_database"]
        places = [*([counted(files, "index file")] if files else []), *(["the index in RocksDB"] if index["in_database"] else [])]
        searched = f"searched for {counted(index['topics'], 'topic')}"
        yield f"  by key     {counted(index['records'], 'record')}, from {' and '.join(places)}, {searched}"
    if not reads_all:
        yield from _not_in_index(index)
    elif index["files"]:
        yield "             deleted topics may have the key too; a condition on the topic, or access=trust, reads less."
        yield "             Rows from the index are returned first"
    for why in index["why"][:3]:
        yield f"  not by key {why}"
    if len(index["why"]) > 3:
        yield f"             {len(index['why']) - 3} more index files are not used"


def _not_in_index(index: dict[str, Any]) -> Iterator[str]:
    """What else is read, because the index may not have all rows."""
    if index["bytes_not_known"]:
        size = size_of(index["bytes_not_known"])
        if index["in_database"] and index["may_lack_ids"]:
            yield f"             {size} in no index file are scanned: the index in RocksDB lacks messages without"
            yield "             UNIQ_KEY, which may have the key too; access=trust skips them"
        else:
            which = "index" if index["in_database"] else "index file"
            yield f"             {size} that no {which} covers are scanned; access=trust skips them"
    if index["unknown_topics"]:
        yield "             deleted topics may have the key too, so bytes in no consume queue are scanned;"
        yield "             a condition on the topic, or access=trust, skips them. Rows from the index are returned first"
    if index["topics_with_batches"]:
        yield f"             messages inside batches are not indexed, so those of {_some(index['topics_with_batches'])} are read"
    if index["topics_without_queues"] and not index["unknown_topics"]:
        yield f"             {_some(index['topics_without_queues'])} has no consume queue and may have batches, which are not indexed,"
        yield "             so bytes in no consume queue are scanned; access=trust skips them"
    for topic, offset in index["prepared"][:3]:
        yield f"             a prepared message at offset {offset:,}: brokers 4.0 to 4.2 do not index its rollback, so later records of"
        yield f"             {topic!r} and bytes in no consume queue are read; access=trust skips them"


def _some(topics: list[str]) -> str:
    return names_of([repr(topic) for topic in topics], 3)
