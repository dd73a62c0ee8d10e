"""How large a store is on its disk, by part. A store read from an archive or an object storage has no disk, only sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass

from native_reader.storage.protocol import Disk, storage_of
from native_reader.storage.store import StoreFiles

_OF_QUEUES = "consumequeue_ext"


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes on the disk; None where that is not known. `other`: configuration, checkpoint, timer files and whatever else is there."""

    log: int | None
    queues: int | None
    index: int | None
    other: int | None

    @property
    def known(self) -> dict[str, int]:
        """The parts whose size is known, by name."""
        return {name: size for name, size in asdict(self).items() if size is not None}

    @property
    def total(self) -> int:
        """The bytes of all parts that are known."""
        return sum(self.known.values())

    @property
    def is_whole(self) -> bool:
        """Whether all parts are known."""
        return None not in astuple(self)


def usage_of(stores: Iterable[StoreFiles]) -> Usage:
    """How large these stores are on their disks."""
    found = [_of_store(store) for store in stores]
    return Usage(*(_sum(sizes) for sizes in zip(*map(astuple, found), strict=True))) if found else Usage(0, 0, 0, 0)


def disk_of(stores: Iterable[StoreFiles]) -> Disk | None:
    """The disk with the newest segments; None if there are several, or if it is not known."""
    disks = {storage_of(uri).disk(uri) for uri in (store.segments[-1].uri if store.segments else store.uri for store in stores)}
    return disks.pop() if len({disk and disk.identity for disk in disks}) == 1 else None


def _of_store(store: StoreFiles) -> Usage:
    log = {segment.directory for segment in store.segments}
    queues = {*store.queue_directories, f"{store.uri}/{_OF_QUEUES}"}
    index = {store.index} if store.index is not None else set[str]()
    named = log | queues | index
    rest = {store.uri} - named
    return Usage(*(_sum(storage_of(uri).occupied(uri, named - {uri}) for uri in sorted(part)) for part in (log, queues, index, rest)))


def _sum(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
