"""Standard error: warnings of the engine, notes and a progress bar. Standard output has only what was asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rmqstore.text import for_people

if TYPE_CHECKING:
    from native_reader import Progress
    from native_reader.errors import Warned

_CLEAR = "\r\x1b[K"
_MOST_WARNINGS = 10
_LOGGER = "native_reader"


def is_terminal() -> bool:
    """Whether somebody can see a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


def note(text: str) -> None:
    """One line on standard error, which people read: with paths, not URIs."""
    if sys.stderr is not None:  # None in a process without one
        sys.stderr.write(f"{_CLEAR if is_terminal() else ''}{for_people(text)}\n")
        sys.stderr.flush()


def clear() -> None:
    """Remove the bar, before something is printed on the same terminal. The next report draws it again."""
    if is_terminal():
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


def bar(*labels: str) -> bool | Callable[[Progress], object]:
    """For the engine's `progress`: a bar, if somebody can see it. `labels`: of reads that follow each other."""
    from native_reader.scan.progress import Bar

    return Bar(sys.stderr, *labels, stays=False) if is_terminal() else False


def text_in(record: logging.LogRecord, language: str) -> str:
    """A warning of the engine in that language, if it is about a loss."""
    from native_reader.sentences import Said

    said = getattr(record, "said", None)
    return said.text(language) if isinstance(said, Said) else record.getMessage()


@contextmanager
def warnings_in(language: str) -> Iterator[Warned]:
    """As `warnings`, in that language."""
    from native_reader.sentences import say

    def show(text: str, is_loss: bool) -> None:
        note(say("warning", what=text).text(language))

    with warnings(show, lambda record: text_in(record, language)) as warned:
        yield warned


@contextmanager
def warnings(
    show: Callable[[str, bool], object] = lambda text, is_loss: note(f"warning: {text}"),
    text_of: Callable[[logging.LogRecord], str] = logging.LogRecord.getMessage,
) -> Iterator[Warned]:
    """Print the engine's warnings, the first of many only.

    `show`: called instead, with each text, and whether it is about a loss. `text_of`: another language.
    """
    from native_reader.errors import Warned
    from rmqstore.cli.asked import spelled as flag

    logger = logging.getLogger(_LOGGER)
    before, logger.propagate = logger.propagate, False
    warned = Warned(_MOST_WARNINGS, flag, show, text_of)
    try:
        with warned:
            yield warned
    finally:
        logger.propagate = before
        if warned.left_out:
            note(f"warning: {warned.left_out:,} more warnings are not shown")
