"""What a log should hold and does not: offsets that no file contains, and what is missing after its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from native_reader.errors import DataLoss, option_name
from native_reader.storage.store import StoreFiles
from native_reader.storage.strays import offset_in, rename_command, unpack_command
from native_reader.text import Said, say

MISSING, LOST = "missing", "lost"
NOT_THERE = {
    MISSING: "no file contains these offsets",
    LOST: "consume queues, index files or the checkpoint have records there, after the end of the log",
}
"""The reasons why offsets are missing, with their meaning."""
_END = "the end of the log at offset {end:,}"
_RENAMED = "No file contains these offsets: segments at the end are missing or renamed"
WHAT = {
    "named by queues": (
        "{records:,} {records:record|records} in {queues:,} {queues:queue|queues} {records:is|are} after "
        f"{_END}, up to offset {{until:,}}"
    ),
    "only segment": "its only segment contains no record",
    "no segment": "none of its {segments} segments contains a record",
    "stray": f"{{name}} is not a segment, but its name is an offset after {_END}",
    "segments after": f"{{segments:,}} {{segments:segment|segments}} after {_END} {{segments:contains|contain}} no record",
    "bytes after": f"{{bytes:,}} bytes after {_END} are not records",
    "named by index": f"an index file has a record at offset {{offset:,}}, after {_END}",
    "later checkpoint": f"the checkpoint has a later store time than the last record before {_END}",
}
"""What can be lost after the end of a log, by kind, in English."""
WHY = {
    "packed": "{file} looks like {format} data. Unpack it first: {command}",
    "archive": "{file} looks like a tar archive. Unpack it first",
    "begins with zeros": "{file} begins with zeros: nothing was written, or the data is lost",
    "begins with text": "{file} begins with text",
    "begins with unknown": "{file} begins with unknown bytes",
    "not opened": "The file cannot be opened: {reason}",
    "cut segment": "Segment {name} has {size:,} bytes, others {others:,}: it looks cut off",
    "overwritten": "The bytes there are neither records nor zeros: they were overwritten",
    "no file": _RENAMED,
    "packed file": f"{_RENAMED}. {{name}} exists: unpack it first: {{command}}",
    "renamed file": f"{_RENAMED}. {{name}} exists: if it is a segment, rename it first: {{command}}",
    "copied before": "Only zeros or half a record follow: the log was copied before its consume queues, or its newest pages were lost",
}
"""Why it can be lost, by kind, in English."""
BACK = {
    "packed segment": "{name} exists: unpack it first: {command}",
    "renamed segment": "{name} exists: if it is a segment, rename it first: {command}",
}
"""How to get missing offsets back, by kind, in English."""
STORES = {"lost in store": "{store}: {what}. {why}"}
"""What is lost in one of several stores, in English."""
_SENTENCES = {MISSING: NOT_THERE[MISSING], **WHAT, **WHY, **BACK}


class Missing(NamedTuple):
    """Offsets that the log of a store should hold but does not; with the reason, and what is known."""

    store: str
    start: int
    stop: int
    reason: str = MISSING
    said: tuple[Said, ...] = (Said(MISSING),)

    @property
    def description(self) -> str:
        """What is known, in English."""
        return ". ".join(each.text(_SENTENCES) for each in self.said)

    @property
    def how_to_get_back(self) -> str:
        """What to do with the file that has them, in English; empty if there is none."""
        return ". ".join(each.text(_SENTENCES) for each in self.said if each.kind in BACK)

    @property
    def is_gap(self) -> bool:
        """Whether they are between the first and the last file; otherwise they follow the end of the log."""
        return self.reason == MISSING


def gap_in(store: StoreFiles, start: int, stop: int) -> Missing:
    """Offsets that no file of a store has, with how to get them back if a packed or renamed file has them."""
    name = next((name for name in store.strays if start <= offset_in(name) < stop), None)
    return Missing(store.uri, start, stop, MISSING, (Said(MISSING), *([] if name is None else [back(name)])))


def back(name: str) -> Said:
    """How to turn that file into a segment again."""
    if command := unpack_command(name):
        return say("packed segment", name=name, command=command)
    return say("renamed segment", name=name, command=rename_command(name))


@dataclass(frozen=True, slots=True)
class Lost:
    """What is missing or unreadable after the end of one log: offsets `[start, stop)`, one of WHAT and one of WHY.

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
        return self.said.text(STORES | WHAT | WHY)

    @property
    def said(self) -> Said:
        """The store, what is lost and why, for other languages."""
        return say("lost in store", store=self.store, what=self.what, why=self.why)

    @property
    def text(self) -> str:
        """What is lost and why, in English."""
        return f"{self.what.text(WHAT)}. {self.why.text(WHY)}"

    @property
    def what_and_why(self) -> Said:
        """The same of one store: two sentences."""
        return say("sentences", first=self.what, second=self.why)

    @property
    def missing(self) -> Missing | None:
        """The offsets that no read finds; None if all of them are read as damage."""
        start = max(self.start, self.junk_end)
        return Missing(self.store, start, self.stop, LOST, (self.what, self.why)) if start < self.stop else None

    def error(self) -> DataLoss:
        """The error for a read that must not lose anything."""
        return DataLoss(f"{self}. Set {option_name('fail_on_data_loss', False)} to read the rest. The table 'damage' lists what is missing")


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
