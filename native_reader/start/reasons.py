"""Reasons for and against a start: a cause, with its numbers and names, and for which brokers it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from native_reader.sentences import Said
from native_reader.start.lines import Line
from native_reader.witness.contradiction import (
    FAR_ENTRIES,
    FIRST_GONE,
    FOREIGN_INDEX,
    FOREIGN_QUEUES,
    FOREIGN_SEGMENTS,
    FOREIGN_TOPICS,
    MISNAMED,
    NO_DELAYS,
    NO_GROUPS,
    NO_OFFSETS,
    NO_RECORD,
    NOT_FILES,
    OFFSETS_PAST,
    OTHER_TAGS,
    PAST_END,
    UNLISTED,
)


class Harm(IntEnum):
    """How bad a reason is, from the worst."""

    REFUSES = 0
    """The broker does not start."""
    LOSES = 1
    """It deletes messages, or consumers do not get them."""
    CHANGES = 2
    """It does what an operator may not expect."""
    UNKNOWN = 3
    """What it would do was not found out."""


CUT, EXPIRED = "cut", "expired"
KINDS: Mapping[str, Harm] = {
    "runs": Harm.REFUSES,
    "segment size": Harm.REFUSES,
    "renamed file": Harm.REFUSES,
    "cut file": Harm.REFUSES,
    "foreign file": Harm.REFUSES,
    "not opened": Harm.REFUSES,
    "queue size": Harm.REFUSES,
    "foreign queue file": Harm.REFUSES,
    "queue type": Harm.REFUSES,
    "folder": Harm.REFUSES,
    "index folder": Harm.REFUSES,
    "settings": Harm.REFUSES,
    "database": Harm.REFUSES,
    "timer wheel": Harm.REFUSES,
    "timer log size": Harm.REFUSES,
    "timer log cut": Harm.REFUSES,
    "foreign timer log": Harm.REFUSES,
    "no array": Harm.REFUSES,
    "waits": Harm.REFUSES,
    "dledger file": Harm.REFUSES,
    "dledger exits": Harm.REFUSES,
    CUT: Harm.LOSES,
    "database ends": Harm.LOSES,
    "no log": Harm.LOSES,
    "left out segment size": Harm.LOSES,
    "lost topics": Harm.LOSES,
    "never queued": Harm.LOSES,
    "not queued": Harm.LOSES,
    "unreached": Harm.LOSES,
    "moved": Harm.LOSES,
    "reused": Harm.LOSES,
    "left out queue size": Harm.LOSES,
    "second fewer": Harm.LOSES,
    MISNAMED: Harm.LOSES,
    FOREIGN_SEGMENTS: Harm.LOSES,
    NOT_FILES: Harm.LOSES,
    PAST_END: Harm.LOSES,
    UNLISTED: Harm.LOSES,
    FOREIGN_QUEUES: Harm.LOSES,
    NO_RECORD: Harm.LOSES,
    FOREIGN_TOPICS: Harm.LOSES,
    OTHER_TAGS: Harm.LOSES,
    "kept damage": Harm.LOSES,
    "wrong bodies": Harm.LOSES,
    "hole": Harm.LOSES,
    EXPIRED: Harm.LOSES,
    FIRST_GONE: Harm.CHANGES,
    "no topics": Harm.CHANGES,
    "controller": Harm.CHANGES,
    "dledger peers": Harm.CHANGES,
    "dledger index": Harm.CHANGES,
    "lost settings": Harm.CHANGES,
    "old settings": Harm.CHANGES,
    "queued again": Harm.CHANGES,
    "large array": Harm.CHANGES,
    "second more": Harm.CHANGES,
    "light settings": Harm.CHANGES,
    "unused database": Harm.CHANGES,
    FAR_ENTRIES: Harm.CHANGES,
    OFFSETS_PAST: Harm.CHANGES,
    NO_OFFSETS: Harm.CHANGES,
    NO_GROUPS: Harm.CHANGES,
    NO_DELAYS: Harm.CHANGES,
    FOREIGN_INDEX: Harm.CHANGES,
    "database unknown": Harm.UNKNOWN,
    "database queues": Harm.UNKNOWN,
    "not read": Harm.UNKNOWN,
    "forbidden": Harm.UNKNOWN,
    "not given": Harm.UNKNOWN,
}
"""Every kind of reason, in the order in which reasons of the same harm are told."""
_ORDER = {kind: place for place, kind in enumerate(KINDS)}


class Cause(NamedTuple):
    """What a broker meets when it starts: one of KINDS, with its numbers and names."""

    kind: str
    values: tuple[tuple[str, int | str], ...] = ()

    @property
    def harm(self) -> Harm:
        """How bad it is."""
        return KINDS[self.kind]

    @property
    def said(self) -> Said:
        """The same as a sentence."""
        return Said(f"start {self.kind}", self.values)


def cause(kind: str, **values: int | str) -> Cause:
    """A cause of that kind with these values."""
    return Cause(kind, tuple(values.items()))


class Reason(NamedTuple):
    """One reason. `lines`: the brokers for which it holds; empty if it holds for all."""

    cause: Cause
    lines: tuple[Line, ...] = ()

    @property
    def harm(self) -> Harm:
        """How bad it is."""
        return self.cause.harm


def by_line(found: Mapping[Line, Iterable[Cause]]) -> list[Reason]:
    """Equal causes of several lines as one reason, the worst first."""
    lines: dict[Cause, list[Line]] = {}
    for line, causes in found.items():
        for each in dict.fromkeys(causes):
            lines.setdefault(each, []).append(line)
    joined = [Reason(each, () if len(own) == len(found) else tuple(own)) for each, own in lines.items()]
    return sorted(joined, key=lambda each: (each.harm, _ORDER[each.cause.kind]))
