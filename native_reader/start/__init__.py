"""Whether a broker may be started on a store, and what it would do to it: one answer for all commands."""

from native_reader.start.answer import (
    BETTER_NOT,
    BUT,
    NO,
    OUTCOMES,
    SO_FAR,
    UNKNOWN,
    YES,
    Start,
    answer_for,
    lines_of,
    may_start,
    question,
    said_of,
)
from native_reader.start.lines import checked_version
from native_reader.start.reasons import KINDS, Reason

__all__ = [
    "BETTER_NOT",
    "BUT",
    "KINDS",
    "NO",
    "OUTCOMES",
    "SO_FAR",
    "UNKNOWN",
    "YES",
    "Reason",
    "Start",
    "answer_for",
    "checked_version",
    "lines_of",
    "may_start",
    "question",
    "said_of",
]
