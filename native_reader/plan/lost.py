"""What a log should hold and does not: offsets that no file contains, and what is missing after its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from native_reader.errors import DataLoss, option_name

MISSING, LOST = "missing", "lost"
NOT_THERE = {
    MISSING: "no file contains these offsets",
    LOST: "consume queues, index files or the checkpoint have records there, after the end of the log",
}
"""The reasons why offsets are missing, with their meaning."""


class Missing(NamedTuple):
    """Offsets that the log of a store should hold but does not; with the reason and a description."""

    store: str
    start: int
    stop: int
    reason: str = MISSING
    description: str = NOT_THERE[MISSING]

    @property
    def is_gap(self) -> bool:
        """Whether they are between the first and the last file; otherwise they follow the end of the log."""
        return self.reason == MISSING


@dataclass(frozen=True, slots=True)
class Lost:
    """What is missing or unreadable after the end of one log: offsets `[start, stop)`, and a description.

    `is_loss`: bytes were overwritten, files are missing, or no segment holds a record. Otherwise there are only zeros or half
    a record, as in a copy whose log was copied before its queues.
    """

    store: str
    start: int
    stop: int
    text: str
    is_loss: bool
    junk_end: int = 0
    """Bytes before this offset may be neither records nor zeros."""

    def __str__(self) -> str:
        return f"{self.store}: {self.text}"

    @property
    def missing(self) -> Missing | None:
        """The offsets that no read finds; None if all of them are read as damage."""
        start = max(self.start, self.junk_end)
        return Missing(self.store, start, self.stop, LOST, self.text) if start < self.stop else None

    def error(self) -> DataLoss:
        """The error for a read that must not lose anything."""
        return DataLoss(f"{self}. Set {option_name('fail_on_data_loss', False)} to read the rest. The table 'damage' lists what is missing")


class CheckedEnd(NamedTuple):
    """Where a read of one log ends, how many bytes of old records follow, and what is lost.

    `follows_record`: a record, or a blank, ends there; otherwise damage may.
    """

    offset: int
    stale: int = 0
    lost: Lost | None = None
    follows_record: bool = True
