"""Standard error: warnings of the engine, notes and a progress bar. Standard output has only what was asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Protocol

from rmqstore.text import safe

_CLEAR = "\r\x1b[K"
_QUIET = 1.0
"""Seconds after which a bar appears: shorter work needs none."""
_WIDTH = 20
_MOST_WARNINGS = 10
_MOST_KNOWN = 1000
"""Texts that are kept, so that none counts twice."""
_LOGGER = "native_reader"


def is_terminal() -> bool:
    """Whether somebody can see a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


def note(text: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:  # None in a process without one
        sys.stderr.write(f"{_CLEAR if is_terminal() else ''}{safe(text)}\n")
        sys.stderr.flush()


def clear() -> None:
    """Remove the bar, before something is printed on the same terminal. The next report draws it again."""
    if is_terminal():
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


class Report(Protocol):
    """How far some work is, as the engine reports it."""

    @property
    def done(self) -> int:
        """Bytes done."""

    @property
    def total(self) -> int:
        """Bytes to do."""

    @property
    def seconds(self) -> float:
        """Seconds since the start."""


class Bar:
    """A function for the engine's `progress`: draws one line that is drawn again and again. `labels`: of works that follow each other."""

    def __init__(self, *labels: str) -> None:
        self._labels, self._is_shown = list(labels or ("",)), is_terminal()
        self._total, self._seconds = -1, 0.0

    def __call__(self, progress: Report) -> None:
        is_next = self._total >= 0 and (progress.total != self._total or progress.seconds < self._seconds)
        self._total, self._seconds = progress.total, progress.seconds
        if is_next and len(self._labels) > 1:
            del self._labels[0]
        if not self._is_shown or progress.seconds < _QUIET:
            return
        sys.stderr.write(f"{_CLEAR}{line_of(self._labels[0], progress)}")
        sys.stderr.flush()


def line_of(label: str, progress: Report) -> str:
    """The text of a bar: share, bytes, rate, and the time left."""
    from native_reader.text import duration_of, size_of

    done, total, seconds = progress.done, progress.total, progress.seconds
    share = min(1.0, done / total) if total else 1.0
    bar = f"[{'#' * int(share * _WIDTH):<{_WIDTH}}]"
    rate = f", {size_of(int(done / seconds))}/s" if done and seconds else ""
    left = f", {duration_of(seconds * (total - done) / done)} left" if 0 < done < total else ""
    return f"{label}{' ' if label else ''}{bar} {share:4.0%}  {size_of(done)} of {size_of(total)}{rate}{left}"


class Warnings(logging.Handler):
    """Prints the engine's warnings, each once and the first of many only. Used as a context.

    `has_loss`: whether one of them was about damage or lost messages. `show`: called with each text, and whether it is about a loss.
    """

    def __init__(self, show: Callable[[str, bool], object] = lambda text, is_loss: note(f"warning: {text}")) -> None:
        super().__init__(logging.WARNING)
        self._show = show
        self._seen: set[str] = set()
        self._shown = self._left_out = 0
        self.has_loss = False

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning."""
        from native_reader.errors import DataLoss, spelled
        from rmqstore.cli.asked import spelled as flag

        arguments = record.args if isinstance(record.args, tuple) else ()
        is_loss = getattr(record, "is_loss", False) or any(isinstance(each, DataLoss) for each in arguments)
        self.has_loss |= is_loss
        text = spelled(record.getMessage(), flag)
        if text in self._seen:
            return
        if len(self._seen) < _MOST_KNOWN:
            self._seen.add(text)
        if self._shown < _MOST_WARNINGS:
            self._shown += 1
            self._show(text, is_loss)
        else:
            self._left_out += 1

    def __enter__(self) -> Warnings:
        logger = logging.getLogger(_LOGGER)
        self._before = logger.propagate
        logger.propagate = False
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger(_LOGGER)
        logger.removeHandler(self)
        logger.propagate = self._before
        if self._left_out:
            note(f"warning: {self._left_out:,} more warnings are not shown")
