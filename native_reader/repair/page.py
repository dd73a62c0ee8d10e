"""What a repair found, made and could not bring back: as a page for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from native_reader.account.account import COLUMNS, Account, merged
from native_reader.account.states import STATES, Mark, why
from native_reader.broker.config_files import without
from native_reader.layout.kinds import kind_of_topic
from native_reader.layout.queue_entry import is_light
from native_reader.log.recovery import is_controlled
from native_reader.markdown import Block, Document, Items, Result, Results, Section, Table, columns, paragraph, result
from native_reader.repair.databases import has_index
from native_reader.repair.needs import Needs
from native_reader.repair.plain import IDS
from native_reader.repair.plan import RepairPlan
from native_reader.repair.records import KEEP_TIER, TIER_TO_LOG
from native_reader.repair.settings import NOT_MADE
from native_reader.repair.unfinished import LOG
from native_reader.rescue.confirm import Seen, of_new_store
from native_reader.rescue.page import faults_of
from native_reader.sentences import Said, joined, say, verbatim
from native_reader.start import Start, question, said_of
from native_reader.storage.filled import own_uri
from native_reader.text import size_of
from native_reader.verify.removed import hours_kept

_MOST = 200
"""Rows of one table of the page; the JSON has all."""
_MOST_RANGES = 5
_OF_FAULTS = [name for name in COLUMNS if not name.endswith("_timestamp")]
"""Columns of the account."""
_OF_PEERS = {"from": "from peer", "nothing from": "nothing from peer", "nothing from parted": "nothing from parted peer"}
"""What is said of another peer of a DLedger group, instead of a store of the same plain log."""
_SOURCES = "in the same log", "in another log", "by unique key"
_OF_BROKERS = "CID_RMQ_SYS_"
"""Groups of a broker itself, which reads with them the topics of transactions."""


def facts_of(
    plan: RepairPlan,
    warnings: Sequence[str] = (),
    start: Start | None = None,
    account: Account | None = None,
    needs: Needs | None = None,
) -> dict[str, Any]:
    """The content of `repair.json`. `start` and `account`: of the new store; `needs`: only of a plan."""
    return {
        "store": plan.files.uri,
        "needs": None if needs is None else needs.to_dict(),
        "messages": plan.messages,
        "start": plan.start.to_dict(),
        "start_of_new": None if start is None else start.to_dict(),
        "account": _counts(plan.account if plan.alone is None else plan.alone),
        "account_with_others": None if plan.alone is None else _counts(plan.account),
        "from": list(_from(plan)),
        "account_of_new": None if account is None else _counts(account),
        "lost_messages": plan.lost_messages,
        "placeholders": plan.placeholders,
        "not_served": plan.account.faults.select(_OF_FAULTS).to_pylist(),
        "filled_bytes": plan.filled_bytes,
        "segments": len(plan.shape.bases),
        "segment_bytes": plan.shape.size,
        "segments_made": plan.shape.made,
        "end": plan.end,
        "ranges": [{"start": start, "stop": stop} for start, stop in _ranges(plan)],
        "queues": [*_lost_before(plan), *_lost_queues(plan)],
        "before_log": {"expired": plan.before_log(Mark.BEFORE_BEGIN), "lost": plan.before_log(Mark.REMOVED)},
        "assumed_queue_file_bytes": plan.queue_file_bytes if plan.assumes_queue_size else None,
        "damage_of_peer": []
        if plan.plain is None
        else [{"start": each.start, "stop": each.end, "file": own_uri(each.segment) or each.segment} for each in plan.plain.damage],
        "ids": None if plan.plain is None else IDS,
        "choices": {name: value for name, value in plan.choices._asdict().items() if name != "topics"},
        "topics": list(plan.choices.topics) or None,
        "records_with_another_checksum": sorted(plan.corrected),
        "records_with_another_field": [
            {"offset": offset, "field": each.field, "topic": each.topic, "queue_id": each.queue_id, "queue_offset": each.slot}
            for offset, each in sorted(plan.fields.items())
        ],
        "doubtful": [{"offset": offset, **doubt._asdict()} for offset, doubt in plan.doubts.items()],
        "left_out": dict(plan.dropped),
        "renamed": dict(plan.renamed),
        "queues_made_again": dict(plan.remade),
        "queue_files_made_again": dict(plan.queue_files),
        "database": None if plan.database is None else {"name": plan.database.name, "way": plan.database.way},
        "settings": dict(plan.mended),
        "checkpoint_ahead_ms": plan.checkpoint_ahead,
        "flaws": list(plan.flaws),
        "groups": list(_groups(plan)),
        "has_offsets": any(not (each.group or "").startswith(_OF_BROKERS) for each in plan.groups),
        "warnings": list(warnings),
    }


def _counts(account: Account) -> dict[str, int]:
    return {state: account.messages.get(state, 0) for state in STATES}


def _from(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """What comes from each other store."""
    filled = plan.filled
    if filled is None:
        return
    for store in filled.stores:
        ranges = [{"start": start, "stop": stop} for start, stop in filled.ranges_of(store)]
        queues = [
            {name: value for name, value in each._asdict().items() if name != "store"} for each in filled.taken if each.store == store
        ]
        is_parted = store in filled.parted
        same, moved = (filled.messages_of(store, is_moved=is_moved) for is_moved in (False, True))
        by_key = filled.messages_of(store, is_moved=True, by_key=True)
        counts = {"messages": same, "moved": moved, "by_key": by_key}
        yield {"store": store, **counts, "is_other_log": is_parted, "ranges": ranges, "queues": queues}


def _ranges(plan: RepairPlan) -> Iterator[tuple[int, int]]:
    """The bytes of the log that are made."""
    for hole in plan.shape.holes:
        stop = max(hole.start, min(hole.stop, plan.end)) if hole.is_tail else hole.stop
        if stop > hole.start:
            yield hole.start, stop


def _lost_queues(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """The queue offsets of placeholders of each queue that has some."""
    for number, (topic, queue_id) in enumerate(plan.lost.queues):
        lists = (plan.filling.placed, plan.filling.lights)
        slots = np.sort(np.concatenate([each["slot"][each["queue"] == number] for each in lists]))
        if topic in plan.batch_topics:
            slots = np.concatenate([slots[:0], *(slot + np.arange(plan.lost.counts.get((number, slot), 1)) for slot in slots.tolist())])
        if len(slots):
            parts = np.split(slots, np.flatnonzero(np.diff(slots) != 1) + 1)
            runs = [(int(part[0]), int(part[-1]) + 1) for part in parts]
            yield {"topic": topic, "queue_id": queue_id, "messages": len(slots), "offsets": runs}


def _lost_before(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """The same of messages before the log, if their segments were removed."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row in plan.account.faults.to_pylist():
        if row["why"] == why(Mark.REMOVED) and row["first_queue_offset"] is not None:
            found.setdefault((row["topic"], row["queue_id"]), []).append((row["first_queue_offset"], row["last_queue_offset"] + 1))
    for (topic, queue_id), runs in found.items():
        offsets = merged(runs)
        yield {"topic": topic, "queue_id": queue_id, "messages": sum(stop - first for first, stop in offsets), "offsets": offsets}


def _groups(plan: RepairPlan) -> Iterator[dict[str, Any]]:
    """The groups that had not read all lost messages yet, and how many they never get."""
    lost: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for each in (*_lost_before(plan), *_lost_queues(plan)):
        lost.setdefault((each["topic"], each["queue_id"]), []).extend(each["offsets"])
    for group in plan.groups:
        runs = lost.get((group.topic, group.queue_id if group.queue_id is not None else -1), ())
        missed = sum(max(0, stop - max(start, group.committed or 0)) for start, stop in runs)
        if missed:
            yield {"group": group.group, "topic": group.topic, "queue_id": group.queue_id, "committed": group.committed, "missed": missed}


def page_of(
    plan: RepairPlan,
    path: str | None,
    warnings: Sequence[Said],
    start: Start | None = None,
    account: Account | None = None,
    *,
    needs: Needs | None = None,
    has_lost: bool = False,
) -> Document:
    """What the page says. Without `path`, only the plan was made: the page begins with what it `needs`.

    `has_lost`: whether a folder has what each team lost.
    """
    is_repair = plan.moved is None
    facts = facts_of(plan)
    steps = [Said(each) for each in (_first(plan), *_elsewhere(plan), *_steps(plan))]
    sections = {
        **({} if plan.filled is None else {"from": _taken(plan)}),
        "queues": [*_not_served(plan, facts), *(paragraph("folder for teams") if has_lost else ())],
        **({"doubtful": _doubtful(plan)} if plan.doubts else {}),
        **({"made": _made(facts)} if is_repair else {}),
        "missed": _missed(facts),
        **({} if path is None and not warnings else {"copied": [Items(warnings)] if warnings else paragraph("no warning")}),
        **({} if path is None else {"seen": [Items([Said(each) for each in _SEEN])], "before clients": [Items(steps, True)]}),
        **({} if path is None else {"confirm": _confirm(plan, path, facts)}),
    }
    return Document(
        Said("repair" if is_repair else "extract"),
        [
            *paragraph("peer" if plan.plain else "damaged store" if is_repair else "store", uri=plan.files.uri),
            *paragraph("page planned" if path is None else "new store here"),
            *([] if needs is None else [Results(list(_needed(needs, plan)))]),
            Results([*(_survived(plan) if is_repair else _copied(plan)), *_of_peer(plan), *_result(plan), *_of_new(plan, start, account)]),
        ],
        [Section(Said(f"title {name}"), blocks) for name, blocks in sections.items()],
    )


def _needed(needs: Needs, plan: RepairPlan) -> Iterator[Result]:
    """What the repair needs, and what it would need with links, shared blocks or another disk."""
    yield result("needs", say("end", what=needs.work(plan.bytes_to_write)))
    yield result("room", say("room", room=size_of(needs.room), free=size_of(needs.free)))
    if (time := needs.time()) is not None:
        yield result("time", say("end", what=time))
    if plan.moved is not None:
        return
    if needs.linked is not None:
        yield result("with links", say("with links", room=size_of(needs.linked)))
    shared = "sharing" if needs.shares else "not sharing" if needs.shares is False else "sharing unknown"
    yield result("with shared blocks", say(shared, room=size_of(needs.made)))
    if needs.is_beside:
        yield result("second disk", say("second disk", room=size_of(needs.copied + needs.made)))


def _survived(plan: RepairPlan) -> Iterator[Result]:
    yield result("survived", say("page survived" if plan.plain is None else "page copied", messages=plan.messages))
    if plan.plain is not None:
        yield result("different", Said("different"))
    yield Result(question("the damaged store"), joined("start and", list(said_of(plan.start))))


def _of_peer(plan: RepairPlan) -> Iterator[Result]:
    """What is different from the store of a DLedger peer, and what of its log is damaged."""
    if (plain := plan.plain) is None:
        return
    yield result("ids", say("new ids", file=IDS))
    if damage := plain.damage:
        size, file = size_of(int((damage.ends - damage.starts).sum())), damage[0].segment.rpartition("/")[2]
        yield result("peer damaged", say("peer damaged", ranges=len(damage), size=size, file=file, offset=damage[0].start))


def _of_new(plan: RepairPlan, start: Start | None, account: Account | None) -> Iterator[Result]:
    if account is not None:
        yield result("filled account" if plan.placeholders else "new account", say("end", what=account.said))
    if start is not None:
        yield Result(question("the new store"), joined("start and", list(said_of(start))))


def _copied(plan: RepairPlan) -> Iterator[Result]:
    yield result("topics", joined("commas", [verbatim(topic) for topic in plan.choices.topics]))
    yield result("copied", say("page copied", messages=plan.messages))
    yield result("different", Said("different"))


def _result(plan: RepairPlan) -> Iterator[Result]:
    yield from _of_messages(plan)
    if plan.filled_bytes > plan.blank_bytes:
        made, filled = len(plan.shape.made), size_of(plan.filled_bytes - plan.blank_bytes)
        yield result("filled", say("filled and made", size=filled, segments=made) if made else say("filled", size=filled))
    if plan.blank_bytes:
        yield result("ends", say("ends", size=size_of(plan.blank_bytes)))
    for kind, topics in (("left out", plan.dropped), ("remade", plan.remade)):
        if topics:
            names = [say("topic with count", topic=topic, count=count) for topic, count in sorted(topics.items())]
            yield result(kind, say(kind, topics=joined("commas", names)))
    if (files := plan.queue_files) and not (plan.filled and plan.filled.tiered):  # else all queues begin earlier
        names = [say("topic with count", topic=name, count=count) for name, count in list(files.items())[:_MOST_RANGES]]
        first, more = joined("commas", names), len(files) - _MOST_RANGES
        yield result("queue files", say("queue files", files=say("more offsets", first=first, count=more) if more > 0 else first))
    yield from _of_other_files(plan)
    if plan.is_whole:
        yield result("lost", Said("nothing lost"))
    yield result("size", say("of data", data=size_of(plan.bytes_needed), size=size_of(plan.bytes_to_write)))


def _of_sources(plan: RepairPlan) -> Iterator[Result]:
    """What comes from other stores, and how each has it."""
    for each in _from(plan):
        size = sum(found["stop"] - found["start"] for found in each["ranges"])
        kind = "from" if each["messages"] else "nothing from parted" if each["is_other_log"] else "nothing from"
        values = {"messages": each["messages"], "ranges": len(each["ranges"]), "size": size_of(size)} if each["messages"] else {}
        if each["messages"] or not (each["moved"] or each["by_key"]):
            yield result("from", say(_OF_PEERS[kind] if plan.plain else kind, store=each["store"], **values))
        if each["moved"]:
            is_tier = plan.tier is not None and each["store"] == plan.tier.store
            yield result("from", say("from tier" if is_tier else "from queues", store=each["store"], messages=each["moved"]))
        if each["by_key"]:
            yield result("from", say("from keys", store=each["store"], messages=each["by_key"]))
    for store, count, index in () if plan.filled is None else plan.filled.differing:
        yield result("differing", say("differing", store=store, count=count, index=index))


def _of_messages(plan: RepairPlan) -> Iterator[Result]:
    alone = plan.account if plan.alone is None else plan.alone
    yield result("old account" if plan.moved is None else "topics account", say("end", what=alone.said))
    yield from _of_sources(plan)
    if plan.alone is not None:
        yield result("together", say("end", what=plan.account.said))
    if plan.placeholders:
        yield result("placeholders", say("placeholders", messages=plan.placeholders))
    for kind, mark in (("removed before", Mark.REMOVED), ("expired before", Mark.BEFORE_BEGIN)):
        if messages := plan.before_log(mark):
            yield result("before", say(kind, messages=messages, begin=plan.files.min_offset, hours=hours_kept(plan.files)))
    for kind, is_kept in (("doubtful kept", True), ("doubtful left", False)):
        if any(doubt.is_kept is is_kept for doubt in plan.doubts.values()):
            yield result("doubtful", Said(kind))
    for kind, page, changed in (("fields", "page fields", plan.fields), ("corrected", "page corrected", plan.corrected)):
        if changed:
            first = joined("commas", [say("one offset", first=offset) for offset in sorted(changed)[:_MOST_RANGES]])
            more = len(changed) - _MOST_RANGES
            offsets = say("more offsets", first=first, count=more) if more > 0 else first
            yield result(kind, say(page, messages=len(changed), offsets=offsets))


def _of_other_files(plan: RepairPlan) -> Iterator[Result]:
    """What names of segments, the index, the checkpoint, the settings and the offsets of groups say."""
    for name, right in sorted(plan.renamed.items()):
        yield result("renamed", say("renamed", name=name, right=right))
    for said in () if plan.database is None else plan.database.said:
        yield result("database", said)
    if plan.checkpoint_ahead:
        yield result("checkpoint", say("checkpoint later than log", milliseconds=plan.checkpoint_ahead))
    if plan.flaws:
        yield result("flaws", say("flaws", codes=joined("commas", [verbatim(code) for code in plan.flaws])))
    for name, what in sorted(plan.mended.items()):
        said = say(f"settings {what}", file=name)
        yield result("settings", without(name, said) if what in NOT_MADE else said)
    for loose in plan.filling.ignored:
        topic, queue = plan.lost.queues[loose.queue]
        yield result("passed", say("passed", topic=topic, queue=queue, committed=loose.stop, end=loose.first))
    if (tier := plan.tier) is not None:
        yield result("tier", said_of_tier(plan))
        if tier.way != TIER_TO_LOG and plan.moved is None:
            yield result("tier", Said("tier expires"))
    if plan.choices.link:
        yield result("links", say("links", segments=sum(map(plan.links, plan.shape.bases))))
    if plan.assumes_queue_size:
        yield result("queue size", say("page assumed size", size=plan.queue_file_bytes))
    if plan.index is None and not has_index(plan.files):
        yield result("keys", Said("no index"))


def said_of_tier(plan: RepairPlan) -> Said:
    """What becomes of the tier, and what the broker's settings must name."""
    tier = plan.tier
    assert tier is not None
    if plan.moved is not None and tier.way != TIER_TO_LOG:
        return Said("tier not extracted")
    if tier.way == KEEP_TIER:
        return say("tier kept", folder=tier.path_in(plan.files.uri, "").rsplit("/", 2)[0])
    return say("tier in log" if tier.way == TIER_TO_LOG else "tier left", where=tier.store)


def _not_served(plan: RepairPlan, facts: Mapping[str, Any]) -> list[Block]:
    """The messages that are not served, by queue and state."""
    blocks = faults_of(plan.account, f"{'repair' if plan.moved is None else 'extract'}.json")
    lost = sorted({each["topic"] for each in facts["queues"]})
    said = [(_WITH_EFFECT[kind], topic) for topic in lost if (kind := kind_of_topic(topic)) in _WITH_EFFECT]
    return [*blocks, *(block for kind, topic in said for block in paragraph(kind, topic=topic))]


def _taken(plan: RepairPlan) -> list[Block]:
    """The messages that come from other stores."""
    taken = () if plan.filled is None else plan.filled.taken
    tier = None if plan.tier is None else plan.tier.store
    sources = [Said("in the tier" if each.store == tier else _SOURCES[each.is_moved + each.by_key]) for each in taken]
    rows = [(*each[:5], each.messages, source) for each, source in zip(taken, sources, strict=True)]
    names = columns("store", "topic", "queue", "first slot", "last slot", "count", "source")
    return [Table(names, rows[:_MOST])] if rows else paragraph("nothing here")


def _doubtful(plan: RepairPlan) -> list[Block]:
    names = columns("offset", "topic", "queue", "slot", "contradiction", "result")
    rows = [
        (offset, doubt.topic, doubt.queue_id, doubt.queue_offset, Said(f"why {doubt.why}"), Said("kept" if doubt.is_kept else "left"))
        for offset, doubt in list(plan.doubts.items())[:_MOST]
    ]
    return [Table(names, rows)]


def _made(facts: Mapping[str, Any]) -> list[Block]:
    rows = [(each["start"], each["stop"], each["stop"] - each["start"]) for each in facts["ranges"]]
    return [Table(columns("from", "to", "bytes"), rows[:_MOST])] if rows else paragraph("nothing here")


def _missed(facts: Mapping[str, Any]) -> list[Block]:
    rows = [(each["group"], each["topic"], each["queue_id"], each["committed"], each["missed"]) for each in facts["groups"]]
    if not rows:
        return paragraph("no group" if facts["has_offsets"] else "no offsets")
    return [Table(columns("group", "topic", "queue", "committed", "missed"), rows[:_MOST])]


def _confirm(plan: RepairPlan, path: str, facts: Mapping[str, Any]) -> list[Block]:
    """Commands. Topics and groups that miss messages come first; an extract has no retry topics, by which mqadmin finds a group."""
    ends = [
        (topic, queue_id, end)
        for (topic, queue_id), end in zip(plan.lost.queues, plan.lost.ends, strict=True)
        if end and not is_light(topic)
    ]
    missing = {each["group"] for each in facts["groups"]}
    groups = sorted(plan.groups, key=lambda each: (each.group not in missing, each.group or ""))
    groups = [each for each in groups if plan.moved is None and not (each.group or "").startswith(_OF_BROKERS)]
    topics = [*(each["topic"] for each in facts["queues"] if not is_light(each["topic"])), *(topic for topic, _, _ in ends)]
    return of_new_store(path, plan.files, topics, groups, _seen(plan, ends))


def _seen(plan: RepairPlan, ends: Sequence[tuple[str, int, int]]) -> Seen | None:
    """A message that survived: after a lost one if there is any, else the last of a queue."""
    lost = {(each["topic"], each["queue_id"]): each["offsets"] for each in _lost_queues(plan)}
    found = [(topic, queue_id, end, lost.get((topic, queue_id), ())) for topic, queue_id, end in ends if kind_of_topic(topic) is None]
    after = (Seen(topic, queue_id, stop) for topic, queue_id, end, runs in found for _, stop in runs if stop < end)
    return next(after, None) or next((Seen(topic, queue_id, end - 1) for topic, queue_id, end, runs in found if not runs), None)


def _first(plan: RepairPlan) -> str:
    """The first step before clients are reconnected."""
    if plan.moved is not None:
        return "step copy of extract"
    if plan.plain is not None:
        return "step copy of plain"
    return "step copy of single" if is_controlled(plan.files) else "step copy of repair"


def _elsewhere(plan: RepairPlan) -> Iterator[str]:
    """What differs from the old configuration, which names other places for the log."""
    if plan.moved is None and plan.plain is None and plan.log_directories != {f"{plan.files.uri}/{LOG}"}:
        yield "step log"


_WITH_EFFECT = {"op": "lost op", "timer": "lost timer", "pop": "lost pop"}
"""Kinds of the broker's own topics whose losses have an effect on messages of users, and what says it."""
_SEEN = ("seen by new", "seen by old")
"""What consumers get in the place of a lost message."""


def _steps(plan: RepairPlan) -> tuple[str, ...]:
    """What follows the first steps."""
    if plan.moved is not None:
        return "step look", "step go on"
    return "step old", "step look", "step go on", "step keep" if plan.plain is None else "step keep peers"
