"""What a log should hold and does not: offsets that no file contains, and what is missing after its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from native_reader.errors import DataLoss
from native_reader.sentences import Said, say
from native_reader.storage.packed import rest_command
from native_reader.storage.store import StoreFiles
from native_reader.storage.strays import is_blocked, offset_in, rename_command, unpack_command

MISSING, LOST = NOT_THERE = "missing", "lost"
"""The reasons why offsets are missing. What each means: the sentence `reason` and its name."""


class Missing(NamedTuple):
    """Offsets that the log of a store should hold but does not; with the reason, and what is known."""

    store: str
    start: int
    stop: int
    reason: str = MISSING
    what: Said = Said(MISSING)
    back: Said | None = None
    """What to do with the file that has them; None if there is none."""

    @property
    def said(self) -> Said:
        """What is known."""
        return self.what if self.back is None else say("sentences", first=self.what, second=self.back)

    @property
    def description(self) -> str:
        """What is known, in English."""
        return self.said.text()

    @property
    def how_to_get_back(self) -> str:
        """What to do with the file that has them, in English; empty if there is none."""
        return "" if self.back is None else self.back.text()

    @property
    def is_gap(self) -> bool:
        """Whether they are between the first and the last file; otherwise they follow the end of the log."""
        return self.reason == MISSING


def gap_in(store: StoreFiles, start: int, stop: int) -> Missing:
    """Offsets that no file of a store has, with how to get them back if a packed or renamed file has them."""
    name = next((name for name in store.strays if start <= offset_in(name) < stop), None)
    return Missing(store.uri, start, stop, back=None if name is None else back(name))


def back(name: str) -> Said:
    """How to turn that file into a segment again."""
    if is_blocked(name):
        return say("blocked segment", name=name)
    if command := rest_command(name):
        return say("cut packed segment", name=name, command=command)
    if command := unpack_command(name):
        return say("packed segment", name=name, command=command)
    return say("renamed segment", name=name, command=rename_command(name))


@dataclass(frozen=True, slots=True)
class Lost:
    """What is missing or unreadable after the end of one log: offsets `[start, stop)`, with what it is, and why.

    `is_loss`: bytes were overwritten, files are missing, or no segment holds a record. Otherwise there are only zeros or half
    a record, as in a copy whose log was copied before its queues.
    """

    store: str
    start: int
    stop: int
    what: Said
    why: Said
    is_loss: bool
    junk_end: int = 0
    """Bytes before this offset may be neither records nor zeros."""

    def __str__(self) -> str:
        return self.said.text()

    @property
    def said(self) -> Said:
        """The store, what is lost and why."""
        return say("lost in store", store=self.store, what=self.what, why=self.why)

    @property
    def text(self) -> str:
        """What is lost and why, in English."""
        return self.what_and_why.text()

    @property
    def what_and_why(self) -> Said:
        """The same of one store: two sentences."""
        return say("sentences", first=self.what, second=self.why)

    @property
    def missing(self) -> Missing | None:
        """The offsets that no read finds; None if all of them are read as damage."""
        start = max(self.start, self.junk_end)
        return Missing(self.store, start, self.stop, LOST, self.what_and_why) if start < self.stop else None

    def error(self) -> DataLoss:
        """The error for a read that must not lose anything."""
        return DataLoss(say("lost data", lost=self.said))


class CheckedEnd(NamedTuple):
    """Where a read of one log ends, how many bytes of old records follow, and what is lost.

    `follows_record`: a record, or a blank, ends there; otherwise damage may. `starts`: offsets before it at which records certainly
    start, ascending.
    """

    offset: int
    stale: int = 0
    lost: Lost | None = None
    follows_record: bool = True
    starts: tuple[int, ...] = ()
