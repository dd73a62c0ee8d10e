"""What a repair found, made and could not bring back: as a page for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from native_reader.layout.kinds import OP_TOPIC
from native_reader.markdown import Block, Document, Items, Result, Results, Section, Table, columns, paragraph, result
from native_reader.repair.plan import RepairPlan
from native_reader.repair.refused import is_controlled
from native_reader.rescue.page import ranges_in
from native_reader.sentences import Said, joined, say, verbatim
from native_reader.start import question, said_of
from native_reader.text import size_of

_MOST = 200
"""Rows of one table of the page; the JSON has all."""
_MOST_RANGES = 5
_OF_BROKERS = "CID_RMQ_SYS_"
"""Groups of a broker itself, which reads with them the topics of transactions."""


def facts_of(plan: RepairPlan, warnings: Sequence[str]) -> dict[str, Any]:
    """The content of `repair.json`."""
    return {
        "store": plan.files.uri,
        "messages": plan.messages,
        "start": plan.start.to_dict(),
        "lost_messages": plan.lost_messages,
        "filled_bytes": plan.filled_bytes,
        "segments": len(plan.shape.bases),
        "segment_bytes": plan.shape.size,
        "segments_made": plan.shape.made,
        "end": plan.end,
        "ranges": [{"start": start, "stop": stop} for start, stop in _ranges(plan)],
        "queues": list(_lost_queues(plan)),
        "choices": {name: value for name, value in plan.choices._asdict().items() if name != "topics"},
        "topics": list(plan.choices.topics) or None,
        "records_with_another_checksum": sorted(plan.corrected),
        "records_without_properties": list(plan.doubtful),
        "left_out": dict(plan.dropped),
        "groups": list(_groups(plan)),
        "has_offsets": any(not (each.group or "").startswith(_OF_BROKERS) for each in plan.groups),
        "warnings": list(warnings),
    }


def _ranges(plan: RepairPlan) -> Iterator[tuple[int, int]]:
    """The bytes of the log that are made."""
    for hole in plan.shape.holes:
        stop = max(hole.start, min(hole.stop, plan.end)) if hole.is_tail else hole.stop
        if stop > hole.start:
            yield hole.start, stop


def _lost_queues(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """The lost queue offsets of each queue that has some."""
    for number, (topic, queue_id) in enumerate(plan.lost.queues):
        slots = np.sort(plan.filling.placed["slot"][plan.filling.placed["queue"] == number])
        if len(slots):
            parts = np.split(slots, np.flatnonzero(np.diff(slots) != 1) + 1)
            runs = [(int(part[0]), int(part[-1]) + 1) for part in parts]
            yield {"topic": topic, "queue_id": queue_id, "lost": len(slots), "offsets": runs}


def _groups(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """The groups that had not read all lost messages yet, and how many they never get."""
    lost = {(each["topic"], each["queue_id"]): each["offsets"] for each in _lost_queues(plan)}
    for group in plan.groups:
        runs = lost.get((group.topic, group.queue_id if group.queue_id is not None else -1), ())
        missed = sum(max(0, stop - max(start, group.committed or 0)) for start, stop in runs)
        if missed:
            yield {"group": group.group, "topic": group.topic, "queue_id": group.queue_id, "committed": group.committed, "missed": missed}


def page_of(plan: RepairPlan, path: str | None, warnings: Sequence[Said]) -> Document:
    """What the page says. Without `path`, only the plan was made."""
    is_repair = plan.moved is None
    facts = facts_of(plan, ())
    steps = [Said(each) for each in (_first(plan), *_STEPS[is_repair])]
    sections = {
        "lost": _lost(facts),
        **({"made": _made(facts)} if is_repair else {}),
        "missed": _missed(facts),
        "copied": [Items(warnings)] if warnings else paragraph("no warning"),
        **({} if path is None else {"seen": [Items([Said(each) for each in _SEEN])], "before clients": [Items(steps, True)]}),
    }
    return Document(
        Said("repair" if is_repair else "extract"),
        [
            *paragraph("damaged store" if is_repair else "store", uri=plan.files.uri),
            *paragraph("page planned" if path is None else "new store here"),
            Results([*(_survived(plan) if is_repair else _copied(plan)), *_result(plan)]),
        ],
        [Section(Said(f"title {name}"), blocks) for name, blocks in sections.items()],
    )


def _survived(plan: RepairPlan) -> Iterator[Result]:
    yield result("survived", say("page survived", messages=plan.messages))
    yield Result(question("the damaged store"), joined("start and", list(said_of(plan.start))))


def _copied(plan: RepairPlan) -> Iterator[Result]:
    yield result("topics", joined("commas", [verbatim(topic) for topic in plan.choices.topics]))
    yield result("copied", say("page copied", messages=plan.messages))
    yield result("different", Said("different"))


def _result(plan: RepairPlan) -> Iterator[Result]:
    if plan.lost_messages:
        yield result("lost", say("lost", messages=plan.lost_messages))
    if plan.doubtful:
        yield result("doubtful", say("doubtful kept" if plan.choices.keep_doubtful else "doubtful lost", messages=len(plan.doubtful)))
    if plan.corrected:
        first = joined("commas", [say("one offset", first=offset) for offset in sorted(plan.corrected)[:_MOST_RANGES]])
        more = len(plan.corrected) - _MOST_RANGES
        offsets = say("more offsets", first=first, count=more) if more > 0 else first
        yield result("corrected", say("page corrected", messages=len(plan.corrected), offsets=offsets))
    if plan.filled_bytes:
        made, filled = len(plan.shape.made), size_of(plan.filled_bytes)
        yield result("filled", say("filled and made", size=filled, segments=made) if made else say("filled", size=filled))
    if plan.dropped:
        names = [say("topic with count", topic=topic, count=count) for topic, count in sorted(plan.dropped.items())]
        yield result("left out", say("left out", topics=joined("commas", names)))
    if plan.index is None:
        yield result("keys", Said("no index"))
    if plan.is_whole:
        yield result("lost", Said("nothing lost"))
    yield result("size", say("of data", data=size_of(plan.bytes_needed), size=size_of(plan.bytes_to_write)))


def _lost(facts: Mapping[str, Any]) -> list[Block]:
    rows = [(each["topic"], each["queue_id"], each["lost"], ranges_in(each["offsets"])) for each in facts["queues"]]
    if not rows:
        return paragraph("nothing here")
    blocks: list[Block] = [Table(columns("topic", "queue", "lost", "offsets"), rows[:_MOST])]
    return [*blocks, *paragraph("lost ends", topic=OP_TOPIC)] if any(each["topic"] == OP_TOPIC for each in facts["queues"]) else blocks


def _made(facts: Mapping[str, Any]) -> list[Block]:
    rows = [(each["start"], each["stop"], each["stop"] - each["start"]) for each in facts["ranges"]]
    return [Table(columns("from", "to", "bytes"), rows[:_MOST])] if rows else paragraph("nothing here")


def _missed(facts: Mapping[str, Any]) -> list[Block]:
    rows = [(each["group"], each["topic"], each["queue_id"], each["committed"], each["missed"]) for each in facts["groups"]]
    if not rows:
        return paragraph("no group" if facts["has_offsets"] else "no offsets")
    return [Table(columns("group", "topic", "queue", "committed", "missed"), rows[:_MOST])]


def _first(plan: RepairPlan) -> str:
    """The first step before clients are reconnected."""
    if plan.moved is not None:
        return "step copy of extract"
    return "step copy of single" if is_controlled(plan.files) else "step copy of repair"


_SEEN = ("seen by new", "seen by old")
"""What consumers get in the place of a lost message."""
_STEPS = {True: ("step old", "step look", "step go on", "step keep"), False: ("step look", "step go on")}
"""What follows, by whether it is a repair."""
