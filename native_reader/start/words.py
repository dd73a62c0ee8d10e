"""The answer in words: sentences by kind, in English. `rmqstore/chinese/` has the same in Chinese."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from native_reader.start.answer import BETTER_NOT, BUT, NO, UNKNOWN, Start
from native_reader.start.reasons import Reason, span_of
from native_reader.text import Said, say

ENGLISH: Mapping[str, str] = {
    # The answer
    "start no": "no: {reason}",
    "start better not": "better not: {reason}",
    "start but": "yes, but {reason}",
    "start yes": "yes",
    "start unknown": "unknown: {reason}",
    "start and": "{first}; {second}",
    "start for": "{reason} ({lines})",
    "start unread": "the log before offset {offset:,} was not read, as a broker does not check it when it starts: rmqstore verify does",
    # Its reasons
    "start runs": "a broker on this host runs on it",
    "start segment size": "{file} has {size:,} bytes, others {usual:,}: a broker refuses to load the log",
    "start foreign file": "{file} in the commitlog directory is not a segment: a broker refuses to load the log. Move it away",
    "start not opened": "{file} cannot be opened: {found}",
    "start queue size": "{file} of queue {queue} of {topic} has {size:,} bytes, others {usual:,}: a broker refuses to load the queues",
    "start foreign queue file": (
        "{file} in queue {queue} of {topic} is not a queue file: a broker refuses to load the queues. Move it away"
    ),
    "start queue type": "{topic} has {type} queues, which its settings contradict, as on some slaves: a broker refuses to load them",
    "start settings": "neither {file} nor its .bak can be parsed: a broker refuses to load them",
    "start cut": "it would cut the log at offset {offset:,} and delete {messages:,} {messages:message|messages} after it ({size})",
    "start no log": "the log has no record: it would delete the entries of all consume queues",
    "start not queued": (
        "without queues, it would make them again only from offset {offset:,} on: consumers "
        "would not get {messages:,} {messages:message|messages} before it"
    ),
    "start kept damage": (
        "it would keep {ranges:,} damaged {ranges:range|ranges} ({size}): consumers that read past "
        "{ranges:it|them} lose the messages that follow in the same answer without an error, get one that was never sent, "
        "or run out of memory"
    ),
    "start wrong bodies": (
        "it would serve {messages:,} {messages:message|messages} with a wrong checksum as if {messages:it|they} were whole"
    ),
    "start hole": "files of the log are missing ({ranges:,} {ranges:range|ranges}, {size}): it would go on without them",
    "start expired": (
        "at its next cleaning (deleteWhen, 04:00 by default), it deletes {segments:,} "
        "{segments:segment|segments} ({size}) with messages older than {hours:,} hours (fileReservedTime), unless the files are newer"
    ),
    "start no topics": "it would not know any topic: there are no topic settings",
    "start lost settings": "{file} cannot be used and has no .bak: it would start without these settings",
    "start old settings": "{file} cannot be used: it would take its .bak, which is older",
    "start queued again": "there are no queues: it would make them again from the log",
    "start dledger": "what a broker with DLedger does on such a store was not tested",
    "start not read": (
        "a broker would check {size} of the log, from offset {offset:,} on: too much for this command. rmqstore verify reads them"
    ),
}
"""By kind."""
_WITH_REASON = {NO: "start no", BETTER_NOT: "start better not", BUT: "start but", UNKNOWN: "start unknown"}


def said_of(start: Start) -> Iterator[Said]:
    """The answer with its first reason, then each other one."""
    reasons = [_reason(each) for each in start.reasons]
    yield say(_WITH_REASON[start.outcome], reason=reasons[0]) if reasons else say("start yes")
    yield from reasons[1:]
    if start.is_partial:
        yield say("start unread", offset=start.unread_before)


def lines_of(start: Start, sentences: Mapping[str, str] = ENGLISH) -> Iterator[str]:
    """The same as text."""
    return (said.text(sentences) for said in said_of(start))


def _reason(reason: Reason) -> Said:
    """A reason, with the versions for which it holds unless it holds for all."""
    said = reason.said._replace(kind=f"start {reason.said.kind}")
    return say("start for", reason=said, lines=", ".join(map(span_of, reason.lines))) if reason.lines else said
