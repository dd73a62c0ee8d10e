"""What fills the disk besides the messages of a topic: the parts of a store, its disk, and topics that were deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from native_reader.sides.deleted import DeletedTopics
from native_reader.storage.usage import Usage, disk_of, usage_of
from native_reader.text import counted, names_of, size_of

if TYPE_CHECKING:
    from native_reader.storage.protocol import Disk
    from native_reader.storage.store import StoreFiles

NAMES = {"log": "log", "queues": "consume queues", "index": "index", "other": "other"}
_MOST_NAMES = 5


class Deleted:
    """Which topics were deleted in each of several stores: a row about all of them does not say whose records it counts."""

    def __init__(self, stores: Iterable[StoreFiles]) -> None:
        self._stores = [DeletedTopics(each.queues, each.config) for each in stores if each.segments]

    def has(self, topic: str | None) -> bool | None:
        """Whether it was deleted in all stores; None if one does not tell."""
        if not self._stores or not all(each.can_tell for each in self._stores):
            return None
        return all(each.has(topic) for each in self._stores)


def on_disk(stores: Sequence[StoreFiles]) -> str:
    """How large stores are, by part, and their disk."""
    return usage_in_words(usage_of(stores), disk_of(stores))


def used_percent(disk: Disk) -> int:
    """How full a disk is, as `df` counts it: without what is reserved, and rounded up."""
    usable = disk.used + disk.free
    return -(-disk.used * 100 // usable) if usable else 0


def has_rest(disk: Disk) -> bool:
    """Whether so much is neither used nor free that the sizes seem not to add up."""
    return (disk.size - disk.used - disk.free) * 100 >= disk.size > 0


def usage_in_words(usage: Usage, disk: Disk | None) -> str:
    """How large a store is, by part, and its disk."""
    parts = ", ".join(f"{NAMES[name]} {size_of(size)}" for name, size in usage.known.items())
    unknown = " and ".join(name for part, name in NAMES.items() if part not in usage.known)
    total = f"{'' if usage.is_whole else 'at least '}{size_of(usage.total)}"
    if disk is None:
        of_disk = ""
    else:
        used = f"{size_of(disk.used)} ({used_percent(disk)} %) used"
        rest = ", the rest is reserved by the file system or for other users" if has_rest(disk) else ""
        of_disk = f"; its disk has {size_of(disk.size)}, {used}, {size_of(disk.free)} free{rest}"
    return f"on disk {total}: {parts}{f', not counted: {unknown}' if unknown else ''}{of_disk}"


def deleted_in_words(names: Sequence[str], messages: int, size: int, *, is_all: bool = True) -> str:
    """Which deleted topics still have records. `is_all`: whether all their messages were counted."""
    one = len(names) == 1
    which = f"still {'has' if one else 'have'} records" if is_all else f"{'is' if one else 'are'} among them"
    counts = f"{counted(messages, 'message')}, {size_of(size)}, until {'its' if one else 'their'} segments expire"
    return f"{counted(len(names), 'deleted topic')} {which}: {names_of(names, _MOST_NAMES)}, {counts}"
