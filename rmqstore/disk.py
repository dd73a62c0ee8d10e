"""What fills the disk besides the messages of a topic: the parts of a store, its disk, and topics that were deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from native_reader.facts import Disk, Usage, disk_of, usage_of
from native_reader.sentences import Said, joined, say
from native_reader.text import names_of, size_of

if TYPE_CHECKING:
    from native_reader import Store

PARTS = ("log", "queues", "index", "other")
_MOST_NAMES = 5


def on_disk(store: Store) -> Said:
    """How large stores are, by part, and their disk."""
    return said_of_usage(usage_of(store.stores), disk_of(store.stores))


def used_percent(disk: Disk) -> int:
    """How full a disk is, as `df` counts it: without what is reserved, and rounded up."""
    usable = disk.used + disk.free
    return -(-disk.used * 100 // usable) if usable else 0


def has_rest(disk: Disk) -> bool:
    """Whether so much is neither used nor free that the sizes seem not to add up."""
    return (disk.size - disk.used - disk.free) * 100 >= disk.size > 0


def said_of_usage(usage: Usage, disk: Disk | None) -> Said:
    """How large a store is, by part, and its disk."""
    stored = _stored(usage)
    if disk is None:
        return stored
    sizes = {"size": size_of(disk.size), "used": size_of(disk.used), "free": size_of(disk.free)}
    return say("disk with reserve" if has_rest(disk) else "disk", stored=stored, percent=used_percent(disk), **sizes)


def _stored(usage: Usage) -> Said:
    if not usage.known:
        return Said("size unknown")
    total, parts = size_of(usage.total), [say("part", name=Said(name), size=size_of(size)) for name, size in usage.known.items()]
    if usage.is_whole:
        return say("stored", total=total, parts=joined("clauses", parts))
    missing = joined("and", [Said(name) for name in PARTS if name not in usage.known])
    return say("stored at least", total=total, parts=joined("clauses", parts), missing=missing)


def said_of_deleted(names: Sequence[str], messages: int, size: int, *, is_all: bool = True) -> Said:
    """Which deleted topics still have records. `is_all`: whether all their messages were counted."""
    kind = "deleted" if is_all else "deleted among them"
    return say(kind, topics=len(names), names=names_of(names, _MOST_NAMES), messages=messages, size=size_of(size))
