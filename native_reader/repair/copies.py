"""The segments of the new log that begin as the old ones: copied while the log is read, or left by an interrupted repair."""

from __future__ import annotations

from concurrent.futures import Future

from native_reader.repair import disk
from native_reader.storage.local import local_path
from native_reader.storage.store import StoreFiles, is_segment_name

_ROOM = 2
"""How many times the data of the log must be free. Else nothing is written before the plan says how much is needed."""


class Copies:
    """Segments in the new store that are as in the old one. `folder`: of the new log."""

    def __init__(self, background: disk.Background, folder: str) -> None:
        self.background, self._folder = background, folder
        self._begun: dict[int, Future[None]] = {}
        self._left = {int(name) for name in disk.names_in(folder) if is_segment_name(name)}
        """Those of an interrupted repair. They are not trusted."""

    def begin(self, files: StoreFiles) -> None:
        """Begin to copy all segments, if there is much room."""
        sources = {each.base: local_path(each.uri) for each in files.segments}
        if disk.free_bytes(self._folder) + self.bytes() >= _ROOM * sum(map(disk.data_bytes, sources.values())):
            missing = sources.keys() - self._left
            self._begun = {base: self.background.write(_copied, sources[base], self.path(base)) for base in sorted(missing)}

    def path(self, base: int) -> str:
        """Where a segment is in the new store."""
        return disk.path_in(self._folder, f"{base:020d}")

    def take(self, base: int, sizes: tuple[int, ...]) -> bool:
        """Whether an interrupted repair left this segment, with one of these sizes. One of another size is removed."""
        if base not in self._left:
            return False
        self._left.remove(base)
        is_complete = disk.size_of(self.path(base)) in sizes
        if not is_complete:
            disk.unlink(self.path(base))
        return is_complete

    def copy(self, base: int, source: str) -> None:
        """Copy this segment, unless that is done. Raises what went wrong."""
        if base in self._begun:
            self._begun.pop(base).result()
        else:
            disk.unlink(self.path(base))
            disk.copy(source, self.path(base))

    def remove_others(self) -> None:
        """Remove the segments that the new log does not have, once it has all others."""
        for copying in self._begun.values():
            copying.result()
        for base in self._begun.keys() | self._left:
            self.background.remove(self.path(base)).result()

    def bytes(self) -> int:
        """How much room of the disk they take by now, at least."""
        done = [base for base, copying in self._begun.items() if copying.done() and copying.exception() is None]
        return sum(disk.data_bytes(self.path(base)) for base in (*done, *self._left))


def _copied(source: str, path: str) -> str:
    disk.copy(source, path)
    return path
