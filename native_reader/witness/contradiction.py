"""What contradicts: a sentence, and which reason against a start it is, if it is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from native_reader.sentences import Said, say

MISNAMED, FOREIGN_SEGMENTS, FOREIGN_QUEUES, NO_RECORD = "misnamed", "foreign segments", "foreign queues", "no record"
UNLISTED, FOREIGN_TOPICS, FIRST_GONE, PAST_END, OFFSETS_PAST = "unlisted", "foreign topics", "first gone", "past end", "offsets past"
NO_OFFSETS, NO_GROUPS, NO_DELAYS = "no offsets", "no groups", "no delays"
OTHER_TAGS, NOT_FILES = "other tags", "not files"
FOREIGN_INDEX, FAR_ENTRIES = "foreign index", "far entries"
EFFECTS = (
    MISNAMED,
    FOREIGN_SEGMENTS,
    NOT_FILES,
    FIRST_GONE,
    PAST_END,
    UNLISTED,
    FOREIGN_QUEUES,
    NO_RECORD,
    FOREIGN_TOPICS,
    OTHER_TAGS,
    OFFSETS_PAST,
    NO_OFFSETS,
    NO_GROUPS,
    NO_DELAYS,
    FOREIGN_INDEX,
    FAR_ENTRIES,
)
"""The worst first."""


class Contradiction(NamedTuple):
    """One witness that contradicts another. `effect`: one of EFFECTS; `amount`: of what that reason counts."""

    effect: str
    said: Said
    amount: int = 1


def contradiction(effect: str, kind: str, amount: int = 1, **values: int | str | Said) -> Contradiction:
    """A contradiction with that sentence."""
    return Contradiction(effect, say(f"witness {kind}", **values), amount)


def worst_first(found: Iterable[Contradiction]) -> list[Contradiction]:
    """In the order of EFFECTS."""
    return sorted(found, key=lambda each: EFFECTS.index(each.effect))
