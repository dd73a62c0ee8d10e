"""Explains what a scan will read, what it skips, and why, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from native_reader.plan.estimate import SCAN, TRUST, Estimate
from native_reader.plan.keys import BY_KEY, Located
from native_reader.plan.plan import Plan
from native_reader.predicate.outcomes import mentions
from native_reader.storage.store import StoreFiles

BIG = 1 << 30
"""A scan of at least this many bytes gets a hint."""
HINT = "a condition on topic, keys, store_timestamp or physical_offset would read less"
_MOMENTS = ("store_timestamp", "born_timestamp")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a scan as text (`str`) and as a dict (`to_dict`). Numbers about queues are estimates from samples."""

    stores: tuple[StoreFiles, ...]
    plan: Plan
    zone: str | None = None
    doubts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The plan as a dict."""
        plan = self.plan
        return {
            "stores": [store.uri for store in self.stores],
            "predicate": str(plan.predicate),
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
            "gaps": [list(gap) for gap in plan.gaps],
            "stale": dict(plan.stale),
        }

    def _lookup(self, uri: str) -> Located | None:
        """The index lookup of a store, if the index was used or should have been."""
        found = dict(self.plan.lookups).get(uri)
        return found if found is not None and (found.files or found.why) else None

    def _way(self, uri: str, way: Estimate) -> dict[str, Any]:
        splits = [split for split in self.plan.splits if split.store == uri]
        return {
            "store": uri,
            "access": way.access,
            "why": way.why,
            "segments": len({split.segment.base for split in splits}),
            "bytes": sum(split.written for split in splits),
            "queues": way.queues,
            "entries": way.entries,
            "entries_wanted": way.wanted,
            "bytes_wanted": way.bytes,
            "index": None if (found := self._lookup(uri)) is None else _index(found),
        }

    def _inside(self) -> str:
        """Which condition excludes parts of segments."""
        if any(found.files for _, found in self.plan.lookups):
            return "key"
        return "store time" if mentions(self.plan.predicate, "store_timestamp") else "physical offset"

    def _skipped(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for segment, why in self.plan.skipped:
            found.setdefault(why, []).append(segment.size)
        return found

    def _skips_inside(self) -> bool:
        return self.plan.bytes_skipped > sum(segment.size for segment, _ in self.plan.skipped)

    def lines(self) -> Iterator[str]:
        """The text, line by line."""
        told = self.to_dict()
        yield f"messages where {told['predicate']}"
        if self.zone is not None and mentions(self.plan.predicate, *_MOMENTS):
            yield f" moments without a zone are in {self.zone}"
        yield from (f" note: {doubt}" for doubt in self.doubts)
        for store, way in zip(self.stores, told["ways"], strict=True):
            yield f" {store.uri}: {_counted(len(store.segments), 'segment')}, {size_of(sum(each.size for each in store.segments))}"
            yield from self._of_store(way)
        for each in told["skipped"]:
            yield f"  not read   {size_of(each['bytes'])} in {_counted(each['segments'], 'segment')}, by {each['why']}"
        if inside := self.plan.bytes_skipped - sum(each["bytes"] for each in told["skipped"]):
            yield f"  not read   {size_of(inside)} inside of segments, by {self._inside()}"
        for uri, size in self.plan.stale:
            yield f"  not read   {took_back(uri, size)}"
        for uri, start, stop in self.plan.gaps:
            yield f"  missing    offsets {start:,} to {stop:,} ({stop - start:,} bytes) of {uri}: they lie in no file"

    @staticmethod
    def _of_store(way: dict[str, Any]) -> Iterator[str]:
        yield from _of_index(way["index"])
        where = f"{size_of(way['bytes'])} in {_counted(way['segments'], 'segment')}"
        if way["why"] == BY_KEY:
            return
        if way["access"] == SCAN:
            yield f"  by scan    {where}" + (f": {way['why']}" if way["why"] else "")
            if way["bytes"] >= BIG:
                yield f"             {HINT}"
            return
        wanted = (
            f"{_counted(way['queues'], 'queue')} with {way['entries']:,} entries, of which about {way['entries_wanted']:,} "
            f"({size_of(way['bytes_wanted'])}) are wanted"
        )
        yield f"  by queue   {way['why'] or wanted}"
        if way["access"] == TRUST:
            yield f"             only what they name is read of {where}: access=trust"
        else:
            yield f"  by gaps    of {where} what other queues claim is not read, and what none claims is walked;"
            yield "             a topic may have been deleted and made again, or lag behind. access=trust skips this"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def in_short(self, tasks: int) -> str:
        """A one-line summary."""
        plan = self.plan
        stores = [store.uri for store in self.stores]
        where = stores[0] if len(stores) == 1 else f"{len(stores)} stores"
        parts = []
        lookups = [found for _, found in plan.lookups if found.files]
        if lookups:
            parts.append(f"finds {_counted(sum(len(found.hits) for found in lookups), 'record')} by key")
        if plan.bytes_to_scan and not all(way.why == BY_KEY for _, way in plan.ways):
            parts.append(f"scans {size_of(plan.bytes_to_scan)}")
        if plan.bytes_to_prune:
            about = sum(way.bytes for _, way in plan.ways)
            trusted = any(way.access == TRUST for _, way in plan.ways)
            rest = "nothing else" if trusted else "what no queue claims"
            parts.append(f"asks the queues about {size_of(plan.bytes_to_prune)}, reads about {size_of(about)} and {rest}")
        if plan.bytes_skipped:
            why = ", ".join(sorted({*self._skipped(), *([self._inside()] if self._skips_inside() else [])}))
            parts.append(f"skips {size_of(plan.bytes_skipped)} by {why}")
        segments = len({split.segment for split in plan.splits})
        line = f"{'; '.join(parts) or 'reads nothing'} of {where} ({_counted(segments, 'segment')}) in {_counted(tasks, 'task')}"
        unpruned = plan.bytes_to_scan >= BIG and not plan.bytes_to_prune and not plan.bytes_skipped
        return f"{line}; {HINT}" if unpruned else line


def took_back(uri: str, size: int) -> str:
    """The text for old records after the end of a log, which are not read."""
    return f"{size_of(size)} of old records after the end of the log of {uri}, which a broker took back; tail=all reads them"


def _index(found: Located) -> dict[str, Any]:
    return {
        "files": found.files,
        "topics": found.topics,
        "records": len(found.hits),
        "bytes_not_known": sum(stop - start for start, stop in found.uncovered),
        "unknown_topics": found.unknown_topics,
        "topics_with_batches": list(found.batches),
        "topics_without_queues": list(found.without_queues),
        "prepared": [list(each) for each in found.prepared],
        "why": list(found.why),
    }


def _of_index(told: dict[str, Any] | None) -> Iterator[str]:
    if told is None:
        return
    if told["files"]:
        places = f"{_counted(told['files'], 'index file')} asked about {_counted(told['topics'], 'topic')}"
        yield f"  by key     {_counted(told['records'], 'record')}, by {places}"
    if told["bytes_not_known"]:
        where = size_of(told["bytes_not_known"])
        yield f"             records in {where} may be in no index file, so they are looked at; access=trust skips this"
    if told["unknown_topics"]:
        yield "             records of topics that are gone may have the key too, so what no queue claims is walked; a condition on"
        yield "             the topic, or access=trust, skips this. Rows that the index names come first"
    if told["topics_with_batches"]:
        yield f"             messages inside of batches are not indexed, so those of {_named(told['topics_with_batches'])} are read"
    if told["topics_without_queues"] and not told["unknown_topics"]:
        yield f"             {_named(told['topics_without_queues'])} has no queue to tell whether it held batches, whose messages"
        yield "             are not indexed, so what no queue claims is walked; access=trust skips this"
    for topic, offset in told["prepared"][:3]:
        yield f"             a prepared message at offset {offset:,}: where it was rolled back (4.0 to 4.2) no index says, so what is"
        yield f"             of {topic!r} or in no queue after it is read; access=trust skips this"
    for why in told["why"][:3]:
        yield f"  not by key {why}"
    if len(told["why"]) > 3:
        yield f"             {len(told['why']) - 3} more files are not believed"


def _named(names: list[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (" …" if len(names) > 3 else "")


def size_of(count: int) -> str:
    """A number of bytes for people: 1.5 GiB."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:,.1f} {_UNITS[unit]}" if unit else f"{count:,} bytes"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
