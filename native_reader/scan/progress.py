"""The progress of a read: drawn as a bar on a terminal, written as a line a minute elsewhere, or passed to a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock, get_ident
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self, TextIO

from native_reader.errors import OptionError, shown
from native_reader.sentences import ENGLISH, Said, joined, say, verbatim
from native_reader.text import duration_of, size_of

_EVERY = 0.2
"""Seconds between two reports."""
_QUIET = 1.0
"""Seconds after which a bar appears: shorter reads need none."""
_MINUTE = 60.0
_WIDTH = 20
_CLEAR = "\r\x1b[K"
"""Removes the line of a terminal."""


class Progress(NamedTuple):
    """The state of a read, as the function gets it that was passed as `progress`.

    Attributes:
        done: About how many bytes were read.
        total: About how many bytes must be read.
        rows: The rows of the parts that were read to the end.
        seconds: The seconds since the start.

    Examples:
        >>> states = []
        >>> table = store.messages(columns="topic").to_table(progress=states.append)
        >>> states[-1].share, states[-1].rows
        (1.0, 255)
    """

    done: int
    total: int
    rows: int
    seconds: float

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.done / self.total if self.total else 1.0

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the bytes read so far; None before the first ones."""
        return self.seconds * (self.total - self.done) / self.done if self.done else None


Watch = bool | Callable[[Progress], object]
"""False; True for a bar on standard error, if that is a terminal; or a function to call. An error of the function ends the read."""


class Meter:
    """Measures one read and reports it from time to time. Enter it when the read starts.

    Several threads can read. The reports are made in the thread that uses the rows: a function of a user is not called in others.
    """

    def __init__(self, progress: Watch, total: int, clock: Callable[[], float] = monotonic) -> None:
        self._watcher = _watcher_of(progress)
        self._total, self._clock = total, clock
        self._done = self._rows = 0
        self._begun = self._reported = 0.0
        self._lock, self._thread = Lock(), 0

    def __enter__(self) -> Self:
        self._begun = self._reported = self._clock()
        self._thread = get_ident()
        return self

    def part(self, work: int) -> PartMeter:
        """A part of the read, of about `work` bytes."""
        return PartMeter(self, work)

    def add(self, done: int, rows: int) -> None:
        """More was read. Can be called in any thread."""
        with self._lock:
            self._done, self._rows = self._done + done, self._rows + rows
        if get_ident() == self._thread and self._clock() - self._reported >= _EVERY:
            self._report()

    def look(self) -> None:
        """Report what other threads have read, if it is time. Call it in the thread that uses the rows, which can change."""
        self.add_here(0, 0)

    def add_here(self, done: int, rows: int) -> None:
        """As `add`, in the thread that uses the rows."""
        self._thread = get_ident()
        self.add(done, rows)

    def _report(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            self._reported = self._clock()
            watcher(Progress(self._done, self._total, self._rows, self._reported - self._begun))
            self._watcher = watcher  # a function that raised an error is not called again, so the read can end

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._report()
        if isinstance(self._watcher, Bar):
            self._watcher.close()


class PartMeter:
    """Measures one part of a read. Its bytes count as they are read, but never more than its work; the rest when it ends."""

    def __init__(self, meter: Meter, work: int) -> None:
        self._meter, self._left = meter, work
        self._lock = Lock()

    def advance(self, count: int) -> None:
        """This many more bytes were read. Can be called in any thread."""
        with self._lock:
            within = min(count, self._left)
            self._left -= within
        self._meter.add(within, 0)

    def end(self, rows: int) -> None:
        """The part is over. Call it in the thread that uses the rows."""
        with self._lock:
            left, self._left = self._left, 0
        self._meter.add_here(left, rows)


class Bar:
    """Draws progress as one line that is drawn again and again. `labels`: of reads that follow each other; `stays`: at the end too."""

    def __init__(self, stream: TextIO, *labels: str, stays: bool = True, language: str = ENGLISH) -> None:
        self._stream, self._labels, self._stays, self._language = stream, list(labels or ("",)), stays, language
        self._last: Progress | None = None
        self._drawn = False

    def label(self, label: str) -> Self:
        """What is read from now on."""
        self._labels = [label]
        return self

    def __call__(self, progress: Progress) -> None:
        last, self._last = self._last, progress
        if last is not None and (progress.total != last.total or progress.seconds < last.seconds) and len(self._labels) > 1:
            del self._labels[0]
        self._show(progress)

    def _show(self, progress: Progress) -> None:
        if self._drawn or progress.seconds >= _QUIET:
            self._drawn = True
            self._stream.write(f"{_CLEAR}{line_of(self._labels[0], progress, self._language)}")
            self._stream.flush()

    def close(self) -> None:
        """Leave the line, or remove it."""
        if self._drawn:
            self._stream.write("\n" if self._stays else _CLEAR)
            self._stream.flush()


class Lines(Bar):
    """Writes one line a minute instead of a bar, for a log file. The minute goes on when the next read begins."""

    def __init__(self, stream: TextIO, *labels: str, language: str = ENGLISH, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(stream, *labels, language=language)
        self._clock = clock
        self._written = clock()

    def _show(self, progress: Progress) -> None:
        now = self._clock()
        if now - self._written >= _MINUTE:
            self._written = now
            self._stream.write(f"{said_of(self._labels[0], progress).text(self._language)}\n")
            self._stream.flush()

    def close(self) -> None:
        """Each line stays."""


def said_of(label: str, progress: Progress) -> Said:
    """The same as a sentence."""
    sizes: dict[str, int | str] = {"percent": int(progress.share * 100), "done": size_of(progress.done), "total": size_of(progress.total)}
    left = progress.seconds_left
    said = say("share read", **sizes) if left is None else say("share read and time", **sizes, left=duration_of(left))
    return say("progress of", what=Said(f"now {label}"), progress=said) if label else said


def line_of(label: str, progress: Progress, language: str = ENGLISH) -> str:
    """The text of a bar: share, bytes, rate, and the time left."""
    bar = f"[{'#' * int(progress.share * _WIDTH):<{_WIDTH}}]"
    parts = [say("bar sizes", done=size_of(progress.done), total=size_of(progress.total))]
    if progress.done and progress.seconds:
        parts.append(verbatim(f"{size_of(int(progress.done / progress.seconds))}/s"))
    if progress.seconds_left:
        parts.append(say("bar left", left=duration_of(progress.seconds_left)))
    name = f"{Said(f'now {label}').text(language)} " if label else ""
    return f"{name}{bar} {progress.share:4.0%}  {joined('clauses', parts).text(language)}"


def _watcher_of(progress: object) -> Callable[[Progress], object] | None:
    if isinstance(progress, bool):
        stream: TextIO | None = sys.stderr  # None in a process without one
        return Bar(stream) if progress and stream is not None and stream.isatty() else None
    if not callable(progress):
        raise OptionError(say("wrong progress", progress=shown(progress)))
    return progress
