"""Explains what a scan will read, what it skips, and why, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from native_reader.errors import spelled
from native_reader.kernel import kernel_info
from native_reader.plan.estimate import SEARCHED, AccessPath, is_too_small
from native_reader.plan.keys import BY_KEY, KeyLookup
from native_reader.plan.plan import Plan
from native_reader.plan.split import Split
from native_reader.plan.summarized import Summarized
from native_reader.plan.ways import ALONE, AUTO, SCAN, SUMMARY, TRUST
from native_reader.predicate.outcomes import mentions
from native_reader.sentences import ENGLISH, Said, say, verbatim
from native_reader.storage.store import StoreFiles
from native_reader.text import counted, names_of, size_of

BIG = 1 << 30
"""A scan of at least this many bytes gets a hint."""
_HINT = Said("read less")
_MOST_WHY = 3
_WHY_KERNEL = {"rmqstore-kernel is not installed": "kernel absent", "rmqstore-kernel is installed": "kernel installed"}
_MOMENTS = ("store_timestamp", "born_timestamp")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a scan as text (`str`) and as a dict (`to_dict`). Numbers about queues are estimates from samples.

    Attributes:
        stores: The stores that are read.
        plan: The splits, and the end of each log.
        zone: The zone of times that are written without one.
        doubts: Topics, queues and ids in the conditions that the stores do not have.
        said_doubts: The same for other languages.

    Examples:
        >>> explanation = store.messages(where="physical_offset < 10000").explain()
        >>> explanation.to_dict()["bytes_to_scan"]
        10000
    """

    stores: tuple[StoreFiles, ...]
    plan: Plan
    zone: str | None = None
    doubts: tuple[str, ...] = ()
    said_doubts: tuple[Said, ...] = ()

    def _doubts_in(self, language: str) -> list[str]:
        """The doubts in that language."""
        return list(self.doubts) if language == ENGLISH else [spelled(each.text(language), str) for each in self.said_doubts]

    def to_dict(self) -> dict[str, Any]:
        """Build a dict of the plan, for programs."""
        plan = self.plan
        return {
            "stores": [store.uri for store in self.stores],
            "predicate": str(plan.wanted.rows),
            "time_zone": self.zone,
            "doubts": self._doubts_in(ENGLISH),
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
            "why": "" if way.why is None else way.why.text(),
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

    def lines(self, language: str = ENGLISH) -> Iterator[str]:
        """Write the text, line by line.

        Args:
            language: `en` or `zh`.
        """
        return (each.text(language) for each in self._said(language))

    def _said(self, language: str) -> Iterator[Said]:
        plan = self.plan
        yield say("plan messages", predicate=str(plan.wanted.rows))
        if self.zone is not None and mentions(plan.wanted.rows, *_MOMENTS):
            yield say("plan zone", zone=self.zone)
        yield from (say("plan note", what=doubt) for doubt in self._doubts_in(language))
        for store, (uri, path) in zip(self.stores, plan.ways, strict=True):
            yield say("plan store", store=store.uri, segments=len(store.segments), size=size_of(sum(each.size for each in store.segments)))
            yield from self._of_store(uri, path)
        skipped = sorted(self._skipped().items())
        for why, sizes in skipped:
            yield say("plan excluded", size=size_of(sum(sizes)), segments=len(sizes), why=Said(f"by {why}"))
        if inside := plan.bytes_skipped - sum(sum(sizes) for _, sizes in skipped):
            yield say("plan excluded inside", size=size_of(inside), why=Said(f"by {self._inside()}"))
        for uri, size in plan.stale:
            yield say("plan not read", what=_stale(uri, size))
        for gap in plan.gaps:
            where: dict[str, int | str] = {"start": gap.start, "stop": gap.stop, "bytes": gap.stop - gap.start, "store": gap.store}
            yield say("plan missing", **where) if gap.back is None else say("plan missing in", **where, back=gap.back)
        kernel = kernel_info()
        why_kernel = Said(_WHY_KERNEL[kernel.reason]) if kernel.reason in _WHY_KERNEL else verbatim(kernel.reason)
        yield say("plan kernel", name=kernel.name if kernel.version is None else f"{kernel.name} {kernel.version}", why=why_kernel)

    def _of_store(self, uri: str, path: AccessPath) -> Iterator[Said]:
        way, summary = self._way(uri, path), dict(self.plan.summaries).get(uri)
        if summary is not None:
            yield from _of_summary(way["summary"], summary)
            if not way["segments"]:
                return
        if (lookup := self._lookup(uri)) is not None:
            yield from _of_index(lookup, path.why == SEARCHED)
        where = say("bytes in segments", size=size_of(way["bytes"]), segments=way["segments"])
        if path.why == BY_KEY:
            return
        if path.access == SCAN:
            yield say("plan scan", where=where) if path.why is None else say("plan scan why", where=where, why=path.why)
            yield from _of_costs(way["costs"])
            if way["bytes"] >= BIG:
                yield say("plan hint", hint=_HINT)
            return
        if way["bytes_read_whole"]:
            why = say("in small parts", topics=way["topics"])
            if not way["bytes_by_queue"]:
                yield say("plan scan small", where=where, why=why)
                return
            yield say("plan scan part", where=size_of(way["bytes_read_whole"]), why=why)
            where = verbatim(size_of(way["bytes_by_queue"]))
        entries = {"queues": way["queues"], "entries": way["entries"], "wanted": way["entries_wanted"]}
        yield say("plan queue", what=path.why or say("entries that match", **entries, size=size_of(way["bytes_wanted"])))
        yield from _of_costs(way["costs"])
        if path.access == TRUST:
            yield say("plan trust listed" if way["listed"] else "plan trust", where=where)
        elif way["listed"]:
            yield say("plan no queue listed", where=where)
        else:
            yield say("plan no queue", where=where)
            yield Said("plan in no queue")

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
        yield from (f"not read: {_stale(uri, size).text()}" for uri, size in self.plan.stale)
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
        return f"{line}; {_HINT.text()}" if unpruned else line


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
        "not_used": [why.text() for why in summary.why],
    }


def _of_summary(summary: dict[str, Any], found: Summarized) -> Iterator[Said]:
    if summary["bytes_known"]:
        yield say("plan known", size=size_of(summary["bytes_known"]))
    if summary["segments"] and (summary["bytes"] or not summary["bytes_known"]):
        counts = {"segments": summary["segments"], "records": summary["records_wanted"]}
        yield say("plan summary", size=size_of(summary["bytes"]), **counts, wanted=size_of(summary["bytes_wanted"]))
        yield say("plan summary costs", **{name: size_of(size) for name, size in summary["costs"].items()})
    if summary["segments_scanned"]:
        yield say("plan summary scan", size=size_of(summary["bytes_scanned"]), segments=summary["segments_scanned"])
    yield from (say("plan no summary", why=why) for why in found.why)


def _stale(uri: str, size: int) -> Said:
    """Old records after the end of a log, which are not read."""
    return say("old records after end", size=size_of(size), store=uri)


def _of_costs(costs: dict[str, int] | None) -> Iterator[Said]:
    if costs is not None:
        yield say("plan costs", scan=size_of(costs["scan"]), queues=size_of(costs["queues"]))


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
        "why": [why.text() for why in lookup.why],
    }


def _of_index(lookup: KeyLookup, reads_all: bool) -> Iterator[Said]:
    if lookup.files:
        files = lookup.files - lookup.in_database
        places = say("index files counted", files=files)
        if lookup.in_database:
            places = say("both indexes", files=files) if files else Said("index of rocksdb")
        yield say("plan key", records=len(lookup.hits), places=places, topics=lookup.topics)
    if not reads_all:
        yield from _not_in_index(lookup)
    elif lookup.files:
        yield Said("plan deleted too")
        yield Said("plan index first")
    for why in lookup.why[:_MOST_WHY]:
        yield say("plan not by key", why=why)
    if len(lookup.why) > _MOST_WHY:
        yield say("plan more not by key", files=len(lookup.why) - _MOST_WHY)


def _not_in_index(lookup: KeyLookup) -> Iterator[Said]:
    """What else is read, because the index may not have all rows."""
    if unknown := sum(stop - start for start, stop in lookup.uncovered):
        if lookup.in_database and lookup.may_lack_ids:
            yield say("plan lacks ids", size=size_of(unknown))
            yield Said("plan lacks ids too")
        else:
            yield say("plan not in index" if lookup.in_database else "plan not in index files", size=size_of(unknown))
    if lookup.unknown_topics:
        yield Said("plan unknown topics")
        yield Said("plan skip unknown topics")
    if lookup.batches:
        yield say("plan batches", topics=_some(lookup.batches))
    if lookup.without_queues and not lookup.unknown_topics:
        yield say("plan without queues", topics=_some(lookup.without_queues))
        yield Said("plan scan in no queue")
    for topic, offset in lookup.prepared[:3]:
        yield say("plan prepared", offset=offset)
        yield say("plan prepared read", topic=repr(topic))


def _some(topics: Sequence[str]) -> str:
    return names_of([repr(topic) for topic in topics], 3)
