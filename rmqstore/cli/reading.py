"""One read of messages: its progress, its warnings, and what it says at the end about damage."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rmqstore.cli.asked import spelled
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.spoken import spoken
from rmqstore.cli.stderr import bar, clear, note, warnings

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    import pyarrow as pa

    from native_reader import Run, Scan
    from native_reader.errors import Warned
    from native_reader.plan.lost import Missing
    from rmqstore.cli.asked import Asked


@dataclass(slots=True)
class Read:
    """Use as a context, iterate `batches()`, then return `code`. At the end, it prints what was damaged."""

    asked: Asked
    code: int = CLEAN
    bytes_read: int = 0
    """Bytes of the log that were read."""
    _warnings: AbstractContextManager[Warned] = field(default_factory=warnings)
    _warned: Warned | None = None

    def __enter__(self) -> Self:
        self._warned = self._warnings.__enter__()
        return self

    def batches(self, scan: Scan, *, is_limited: bool = False) -> Generator[pa.RecordBatch]:
        """The rows of a scan. Damage counts towards the exit code also if you stop early. `is_limited`: you probably do."""
        from native_reader.sentences import say

        jobs, progress = self.asked.jobs, bar()
        for each in scan.unread_tiers(spelled, spoken()):
            note(say("note", what=each))
        for run in scan.runs(jobs, progress) if is_limited else [scan.run(jobs, progress)]:
            self._note_gaps(run)
            yield from self.of_run(run)

    def _note_gaps(self, run: Run) -> None:
        for lost in run.lost:
            if lost.is_gap:
                note_gap(lost)
                self.code = FOUND

    def of_run(self, run: Run) -> Generator[pa.RecordBatch]:
        """The rows of a run."""
        try:
            yield from run
        finally:
            clear()
            self.bytes_read += run.report.bytes_read
            self._note_damage(run)

    def _note_damage(self, run: Run) -> None:
        damage = run.report.damage
        if len(damage):
            self.code = FOUND
            note_skipped(len(damage), sum(each.end - each.start for each in damage))

    def expect(self, rows: int) -> None:
        """Without rows, the exit code says so if the conditions have a name that the store does not have."""
        if not rows and self._warned is not None and self._warned.has_unknown:
            self.code = FOUND

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        clear()
        self._warnings.__exit__(kind, error, trace)
        if self._warned is not None and self._warned.has_loss:
            self.code = FOUND


def note_gap(lost: Missing) -> None:
    """Say which bytes no file contains."""
    from native_reader.sentences import say

    gap = say("gap of store", store=lost.store, start=lost.start, stop=lost.stop, bytes=lost.stop - lost.start)
    note(say("warning", what=gap if lost.back is None else say("sentences", first=gap, second=lost.back)))


def note_skipped(ranges: int, size: int) -> None:
    """Say how much damage was skipped."""
    from native_reader.sentences import say

    note(say("warning", what=say("skipped ranges", ranges=ranges, bytes=size)))
