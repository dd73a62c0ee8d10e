"""Standard error: warnings of the engine, notes and a progress bar. Standard output has only what was asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rmqstore.text import safe

if TYPE_CHECKING:
    from native_reader.scan.progress import Watch

_CLEAR = "\r\x1b[K"
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


def bar(*labels: str) -> Watch:
    """For the engine's `progress`: a bar, if somebody can see it. `labels`: of reads that follow each other."""
    from native_reader.scan.progress import Bar

    return Bar(sys.stderr, *labels, stays=False) if is_terminal() else False


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
        from native_reader.plan.lost import Lost
        from rmqstore.cli.asked import spelled as flag

        arguments = record.args if isinstance(record.args, tuple) else ()
        is_loss = any(isinstance(each, DataLoss) or (isinstance(each, Lost) and each.is_loss) for each in arguments)
        is_loss |= getattr(record, "is_loss", False)
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
