"""The answer in words: a sentence with its first reason, then each other one."""

from __future__ import annotations

from collections.abc import Iterator

from native_reader.sentences import ENGLISH, Said, say
from native_reader.start.answer import BETTER_NOT, BUT, NO, UNKNOWN, Start
from native_reader.start.reasons import Reason

_WITH_REASON = {NO: "start no", BETTER_NOT: "start better not", BUT: "start but", UNKNOWN: "start unknown"}


def said_of(start: Start) -> Iterator[Said]:
    """The answer with its first reason, then each other one."""
    reasons = [_reason(each) for each in start.reasons]
    yield say(_WITH_REASON[start.outcome], reason=reasons[0]) if reasons else say("start yes")
    yield from reasons[1:]
    if start.is_partial:
        yield say("start unread", offset=start.unread_before)


def question(store: str = "this store") -> Said:
    """What is answered. `store`: the kind of sentence that names it."""
    return say("start question", store=Said(store))


def lines_of(start: Start, language: str = ENGLISH) -> Iterator[str]:
    """The same as text."""
    return (said.text(language) for said in said_of(start))


def _reason(reason: Reason) -> Said:
    """A reason, with the versions for which it holds unless it holds for all."""
    said = reason.said._replace(kind=f"start {reason.said.kind}")
    return say("start for", reason=said, lines=", ".join(line.span for line in reason.lines)) if reason.lines else said
