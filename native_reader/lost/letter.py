"""The text for the owners of topics: what happened, how many messages, between which times, what is known, what is not, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from native_reader.account.states import AT_LEAST, DOUBTFUL, LOST, NOT_READ, UNREACHABLE
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.lost.evidence import is_tag_hash
from native_reader.lost.rows import Row, TopicLoss, time_of, times_of, visible
from native_reader.sentences import Said, joined, say, verbatim

_MOST_TOPICS, _MOST_QUEUES, _MOST_RANGES, _MOST_GROUPS, _MOST_TAGS = 50, 32, 5, 20, 10


@dataclass(frozen=True, slots=True)
class Letter:
    """A text about some topics of one owner. `store`: its path. `list`: the file of people beside `lost.csv`, if there is one."""

    store: str
    topics: Sequence[TopicLoss]
    team: str | None = None
    list: str | None = None

    def lines(self, language: str) -> Iterator[str]:
        """The text in that language."""
        for each in self._said():
            yield "" if each is None else each.text(language, visible)

    def _said(self) -> Iterator[Said | None]:
        one = self.topics[0].topic if len(self.topics) == 1 else None
        yield say("letter of topic", topic=one) if one is not None else say("letter of team", team=self.team or "", topics=len(self.topics))
        yield None
        yield say("letter happened", store=self.store)
        for topic in self.topics[:_MOST_TOPICS]:
            yield None
            yield from _about(topic)
            if self.list is not None:
                yield _item(say("letter list", file=f"{topic.folder}/{self.list}"))
        if len(self.topics) > _MOST_TOPICS:
            yield None
            yield say("letter more topics", count=len(self.topics) - _MOST_TOPICS)
        states = {state for topic in self.topics for state in topic.counts}
        yield None
        yield from _unknown(states)
        yield None
        yield Said("letter to do")
        for number, step in enumerate(_steps(states, self.topics), 1):
            yield say("letter step", number=number, what=step)


def _about(topic: TopicLoss) -> Iterator[Said]:
    """How many, when, which, and what is known of them."""
    yield say("letter topic", topic=topic.topic)
    if (kind := kind_of_topic(topic.topic)) is not None:
        own = "letter of broker" if kind in SYSTEM_KINDS else "letter of kind"
        yield _item(say(own, name=Said(f"kind {kind}")))
    for (state, reason), rows in _causes(topic).items():
        messages = sum(row["messages"] for row in rows)
        what = say("letter count" if messages else "letter some", state=Said(f"state {state}"), messages=messages)
        yield _item(say("letter because", what=what, when=_when(*times_of(rows)), cause=Said(f"because {reason}")))
    for (queue_id, state), ranges in list(topic.ranges.items())[:_MOST_QUEUES]:
        shown = [
            say("one offset", first=start) if stop == start + 1 else say("offsets to", first=start, last=stop - 1)
            for start, stop in ranges[:_MOST_RANGES]
        ]
        which = joined("commas", shown)
        which = which if len(ranges) <= _MOST_RANGES else say("more ranges", first=which, count=len(ranges) - _MOST_RANGES)
        yield _item(say("letter queue", queue=queue_id, state=Said(f"state {state}"), which=which))
    if len(topic.ranges) > _MOST_QUEUES:
        yield _item(say("letter more queues", count=len(topic.ranges) - _MOST_QUEUES))
    yield from map(_item, _known(topic))
    yield from map(_item, _groups(topic))
    yield _item(say("letter files", folder=topic.folder))


def _item(what: Said) -> Said:
    return say("letter item", what=what)


def _causes(topic: TopicLoss) -> dict[tuple[str, str], list[Row]]:
    """The rows of each state and cause."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in topic.rows:
        found.setdefault((row["state"], row["why"]), []).append(row)
    return found


def _when(first: datetime | None, last: datetime | None) -> Said:
    if first is not None and last is not None:
        return say("letter between", first=time_of(first) or "", last=time_of(last) or "")
    if first is not None:
        return say("letter after", first=time_of(first) or "")
    return Said("letter when") if last is None else say("letter before", last=time_of(last) or "")


def _known(topic: TopicLoss) -> Iterator[Said]:
    """Sizes and tags from entries of queues, hashes of keys from the index."""
    entries = [each for (name, _), each in topic.evidence.entries.items() if name == topic.topic]
    if not entries:
        return
    yield say("letter sizes", messages=sum(int(each.counts.sum()) for each in entries))
    if keys := sum(int(np.isin(each.offsets, topic.evidence.indexed.offsets).sum()) for each in entries):
        yield say("letter keys", messages=keys)
    codes, counts = np.unique(np.concatenate([each.tags for each in entries]), return_counts=True)
    pairs = zip(codes.tolist(), counts.tolist(), strict=True)
    known = sorted(((code, count) for code, count in pairs if code and is_tag_hash(topic.topic, code)), key=lambda pair: -pair[1])
    if known:
        yield say("letter tags", tags=joined("commas", [_tag(topic, code, count) for code, count in known[:_MOST_TAGS]]))
    if len(known) > _MOST_TAGS:
        yield say("letter more tags", count=len(known) - _MOST_TAGS)


def _tag(topic: TopicLoss, code: int, count: int) -> Said:
    texts = topic.evidence.tags.get((topic.topic, code), ())
    if not texts:
        return say("letter tag hash", hash=str(code), count=count)
    return say("letter tag", tag=joined("letter or", [verbatim(text) for text in texts]), count=count)


def _groups(topic: TopicLoss) -> Iterator[Said]:
    for (group, state), (passed, left) in list(topic.groups.items())[:_MOST_GROUPS]:
        kind = "letter group left" if not passed else "letter group both" if left else "letter group passed"
        yield say(kind, group=group, state=Said(f"state {state}"), passed=passed, left=left)
    if len(topic.groups) > _MOST_GROUPS:
        yield say("letter more groups", count=len(topic.groups) - _MOST_GROUPS)
    if not topic.groups and topic.ranges:
        yield Said("letter no group")


def _unknown(states: set[str]) -> Iterator[Said]:
    yield Said("letter unknown")
    if states & {LOST, AT_LEAST}:
        yield _item(Said("letter unknown bodies"))
        yield _item(Said("letter unknown keys"))
    if AT_LEAST in states:
        yield _item(Said("letter unknown more"))
    if DOUBTFUL in states:
        yield _item(Said("letter unknown doubtful"))
    if NOT_READ in states:
        yield _item(Said("letter unknown unread"))
    yield _item(Said("letter unknown elsewhere"))


def _steps(states: set[str], topics: Sequence[TopicLoss]) -> Iterator[Said]:
    if states & {LOST, AT_LEAST}:
        yield Said("letter do compare")
        yield Said("letter do keys")
        yield Said("letter do send")
        if any(passed for topic in topics for (_, state), (passed, _) in topic.groups.items() if state in {LOST, AT_LEAST}):
            yield Said("letter do twice")
    if DOUBTFUL in states:
        yield Said("letter do doubtful")
    if UNREACHABLE in states:
        yield Said("letter do unreachable")
    if NOT_READ in states:
        yield Said("letter do unread")
