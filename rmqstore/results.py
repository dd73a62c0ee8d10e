"""What `rescue`, `lost`, `repair` and `extract` say when they end, and a finding of the check as people read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from native_reader import Lost, Repaired, Rescued, Verification
from native_reader.lost.keys import NOT_SEEN, POSSIBLY_LOST
from native_reader.sentences import ENGLISH, Said, joined, say
from native_reader.start import NO, Start, question, said_of
from native_reader.text import size_of

_MOST_TOPICS = 10
_OF_TIER = {"keep": "tier keep", "log": "tier log", "leave": "tier leave"}


def said_of_rescue(done: Rescued) -> Iterator[Said]:
    """What was saved and lost, a line each; the page has the details."""
    exported = done.exported
    damaged = [damage.end - damage.start for damage in exported.report.damage if damage.reason not in ("unreadable", "checksum")]
    unread = [damage.end - damage.start for damage in exported.report.damage if damage.reason == "unreadable"]
    missing = [gap.stop - gap.start for gap in exported.missing]
    parts = [say(kind, bytes=sum(sizes), ranges=len(sizes)) for kind, sizes in (("in damaged", damaged), ("in missing", missing)) if sizes]
    yield say("saved messages", messages=exported.rows)
    if done.doubtful is not None:
        yield _warning(say("saved doubtful", messages=done.doubtful.rows, folder=done.doubtful.path))
    if done.tiered is not None:
        yield say("saved tiered", messages=done.tiered.rows, folder=done.tiered.path)
    if parts:
        yield _warning(say("bytes lost", bytes=sum(damaged + missing), parts=joined("and lost", parts)))
    if unread:
        yield _warning(say("bytes unread", bytes=sum(unread), ranges=len(unread)))
    yield Said("not accounted") if done.account is None else say("messages are", states=done.account.said)
    if done.problems:
        yield _warning(say("findings", findings=done.problems))
    if done.start is not None:
        yield from _start(question(), done.start)
    if done.is_whole:
        yield Said("no loss")
    yield say("see", page=done.page)


def said_of_lost(done: Lost) -> Iterator[Said]:
    """The states of all messages, the topics that lost most, and how many keys have which answer; the folder has all."""
    states = say("messages are", states=done.account.said)
    yield states if done.account.is_whole else _warning(states)
    for topic in done.topics[:_MOST_TOPICS]:
        counts = [
            say("account some not read" if not count and state == "not read" else f"account {state}", count=count)
            for state, count in topic.counts.items()
        ]
        yield say("lost of topic", topic=topic.topic, states=joined("clauses", counts))
    if len(done.topics) > _MOST_TOPICS:
        yield say("lost more topics", count=len(done.topics) - _MOST_TOPICS, folder=done.path)
    if done.keys is not None:
        answers = joined("clauses", [say(f"keys {answer}", count=count) for answer, count in done.keys.items()])
        yield say("keys asked", answers=answers, folder=done.path)
        if POSSIBLY_LOST in done.keys:
            yield say("end", what=Said("keys hashes"))
        if NOT_SEEN in done.keys:
            yield say("end", what=Said("keys unseen"))
    yield say("lost written" if done.topics else "lost nothing written", topics=len(done.topics), folder=done.path)


def said_of_plan(done: Repaired) -> Iterator[Said]:
    """What a repair needs, before it writes."""
    if (needs := done.needs) is not None:
        sizes = {"room": size_of(needs.room), "free": size_of(needs.free)}
        yield say("planned", work=needs.work(done.plan.bytes_to_write), **sizes)
        if (time := needs.time()) is not None:
            yield time


def said_of_repair(done: Repaired) -> Iterator[Said]:
    """What the new store has and lacks, a line each; the page has the details."""
    plan = done.plan
    yield say("survived" if plan.moved is None else "copied", messages=plan.messages)
    if plan.moved is None:
        yield from _start(question("the damaged store"), plan.start)
    for kind, changed in (("fields", plan.fields), ("corrected", plan.corrected)):
        if changed:
            yield _warning(say(kind, messages=len(changed)))
    alone = plan.account if plan.alone is None else plan.alone
    old = say("in the old store" if plan.moved is None else "in the store", states=alone.said)
    yield old if alone.is_whole else _warning(old)
    yield from _of_others(done)
    if plan.tier is not None:
        yield say(_OF_TIER[plan.tier.way], where=plan.tier.store)
    for each in () if plan.database is None or plan.database.is_right else plan.database.said:
        yield _warning(each)
    if plan.plain is not None and plan.plain.damage:
        yield _warning(say("dledger is damaged", ranges=len(plan.plain.damage)))
    if plan.assumes_queue_size:
        yield _warning(say("assumed size", size=plan.queue_file_bytes))
    if any(doubt.is_kept for doubt in plan.doubts.values()):
        yield _warning(Said("doubtful kept on disk"))
    for each in plan.said_of_settings:
        yield _warning(each)
    if plan.placeholders:
        yield _warning(say("replaced", messages=plan.placeholders))
    if done.page is None or done.start is None or done.account is None:
        yield Said("only planned")
        return
    if (ids := done.ids) is not None:
        yield say("ids changed", file=ids)
    yield say("in the filled store" if plan.placeholders else "in the new store", states=done.account.said)
    yield from _start(question("the new store"), done.start)
    served = "new store" if done.account.is_whole else "new store lacks"
    yield say("new store does not start" if done.start.outcome == NO else served, page=done.page)


def _of_others(done: Repaired) -> Iterator[Said]:
    plan = done.plan
    if plan.filled is None:
        return
    for store in plan.filled.stores:
        same, moved = (plan.filled.messages_of(store, is_moved=is_moved) for is_moved in (False, True))
        if same:
            yield say("taken from", messages=same, store=store)
        if moved:
            is_tier = plan.tier is not None and store == plan.tier.store
            yield say("taken from tier" if is_tier else "taken by queue", messages=moved, store=store)
        if by_key := plan.filled.messages_of(store, is_moved=True, by_key=True):
            yield say("taken by key", messages=by_key, store=store)
        if not (same or moved or by_key):
            yield _warning(say("nothing taken", store=store))
    both = say("in both stores", states=plan.account.said)
    yield both if plan.account.is_whole else _warning(both)


def _warning(what: Said) -> Said:
    return say("warning", what=what)


def _start(asked: Said, start: Start) -> Iterator[Said]:
    """The answer, and each other reason in a line of its own, as `rmqstore doctor` has them."""
    answer, *others = said_of(start)
    first = say("start answered", question=asked, answer=answer)
    yield _warning(first) if start.loses or start.outcome == NO else first
    yield from (say("further reason", reason=each) for each in others)


class InWords(NamedTuple):
    """A finding in one language."""

    severity: str
    found: tuple[str, ...]
    """What was found at the first place. In Chinese, after the meaning of the code, which is an English word."""
    advice: str


def in_words(row: Mapping[str, Any], language: str, spell: Callable[[str], str] = str) -> InWords:
    """A row of the table `findings`. `spell`: how option names are written."""
    code, found = row["code"], Said.from_json(row["details"]).text(language)
    meaning = () if language == ENGLISH else (Said(f"code {code}").text(language),)
    severity = Said(f"severity {row['severity']}").text(language)
    return InWords(severity, (*meaning, found), Verification.advice(code, spell, language=language))
