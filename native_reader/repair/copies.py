"""Copies of the old segments, begun before the plan is made: the disk writes while the log is read."""

from __future__ import annotations

from concurrent.futures import Future

from native_reader.repair import disk
from native_reader.storage.local import local_path
from native_reader.storage.store import StoreFiles

_ROOM = 2
"""How many times the data of the log must be free. Else nothing is written before the plan says how much is needed."""


class Copies:
    """Segments in the new store that are as in the old one. `folder`: of the new log."""

    def __init__(self, beside: disk.Beside, folder: str) -> None:
        self.beside, self._folder = beside, folder
        self._begun: dict[int, Future[None]] = {}

    def begin(self, files: StoreFiles) -> None:
        """Begin to copy all segments, if there is much room."""
        sources = {each.base: local_path(each.uri) for each in files.segments}
        if disk.free_bytes(self._folder) >= _ROOM * sum(map(disk.data_bytes, sources.values())):
            self._begun = {base: self.beside.write(_copied, source, self.path(base)) for base, source in sources.items()}

    def path(self, base: int) -> str:
        """Where a segment is in the new store."""
        return disk.path_in(self._folder, f"{base:020d}")

    def copy(self, base: int, source: str) -> None:
        """Copy this segment, unless that is done. Raises what went wrong."""
        if base in self._begun:
            self._begun.pop(base).result()
        else:
            disk.copy(source, self.path(base))

    def remove_others(self) -> None:
        """Remove the segments that the new log does not have, once it has all others."""
        for base, copying in self._begun.items():
            copying.result()
            self.beside.remove(self.path(base)).result()

    def bytes(self) -> int:
        """How much room of the disk they take by now, at least."""
        done = [base for base, copying in self._begun.items() if copying.done() and copying.exception() is None]
        return sum(disk.data_bytes(self.path(base)) for base in done)


def _copied(source: str, path: str) -> str:
    disk.copy(source, path)
    return path
