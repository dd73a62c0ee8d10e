"""Why a part of a summary is not used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from native_reader.text import Said, say

UNFIT = {
    "no part": "the summary has no part for it",
    "other version": "another version of rmqstore wrote its part",
    "damaged part": "a checksum of its part is wrong: the part was changed or not written to the end",
    "unreadable part": "its part cannot be read",
    "contradiction": "its part contradicts itself",
    "other segment": "its part is of another file",
    "changed": "it was changed after its part was written",
    "damage": "it has damaged bytes",
    "many": "too many of its queues may match",
    "large": "it has a record that is larger than max_record_bytes",
}
"""Why a segment is not read by its part, by kind, in English."""


class Unfit(Exception):
    """A part that is not used. `said`: why."""

    def __init__(self, kind: str) -> None:
        super().__init__(UNFIT[kind])
        self.said: Said = say(kind)


@contextmanager
def reading_part() -> Iterator[None]:
    """Make errors of reading a part Unfit."""
    try:
        yield
    except (pa.ArrowException, KeyError, OverflowError):
        raise Unfit("contradiction") from None
    except OSError:
        raise Unfit("unreadable part") from None
