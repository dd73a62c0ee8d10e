"""Standard error: warnings of the engine, notes and a progress bar. Standard output has only what was asked for."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rmqstore.cli.spoken import spoken
from rmqstore.text import for_people

if TYPE_CHECKING:
    from native_reader import Progress, Store
    from native_reader.errors import Warned
    from native_reader.sentences import Said

_CLEAR = "\r\x1b[K"
_MOST_WARNINGS = 10
_LOGGER = "native_reader"


def is_terminal() -> bool:
    """Whether somebody can see a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


def note(text: str | Said) -> None:
    """One line on standard error, which people read: in their language, and with paths, not URIs."""
    if sys.stderr is not None:  # None in a process without one
        text = text if isinstance(text, str) else text.text(spoken(), _with_flags)
        sys.stderr.write(f"{_CLEAR if is_terminal() else ''}{for_people(text)}\n")
        sys.stderr.flush()


def _with_flags(text: str) -> str:
    from native_reader.errors import spelled
    from rmqstore.cli.asked import spelled as flag

    return spelled(text, flag)


def note_room(store: Store, target: str, kind: str, language: str) -> None:
    """Say at the start if the disk may be too small, not after hours."""
    from native_reader.sentences import say
    from native_reader.text import size_of

    size = sum(segment.size for each in store.stores for segment in each.segments)
    folder = Path(target).absolute()
    with suppress(OSError):  # the command itself says what is wrong with the folder
        while not folder.exists():
            folder = folder.parent
        if (free := shutil.disk_usage(folder).free) < size:
            note(say(kind, size=size_of(size), folder=str(folder), free=size_of(free)).text(language))


def clear() -> None:
    """Remove the bar, before something is printed on the same terminal. The next report draws it again."""
    if is_terminal():
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


def bar(*labels: str, language: str | None = None) -> bool | Callable[[Progress], object]:
    """For the engine's `progress`: a bar on a terminal, else one line a minute. `labels`: one for each read, in their order."""
    from native_reader.scan.progress import Bar, Lines

    if sys.stderr is None:
        return False
    language = language or spoken()
    return Bar(sys.stderr, *labels, stays=False, language=language) if is_terminal() else Lines(sys.stderr, *labels, language=language)


def _text_of(record: logging.LogRecord, language: str) -> str:
    """A warning of the engine in that language."""
    from native_reader.errors import Sentence
    from native_reader.errors import text_in as written
    from rmqstore.cli.asked import spelled as flag

    said = getattr(record, "said", None)
    return written(said, language, flag) if isinstance(said, Sentence) else record.getMessage()


@contextmanager
def warnings(show: Callable[[str, bool], object] | None = None, language: str | None = None) -> Iterator[Warned]:
    """Print the engine's warnings, the first of many only.

    `show`: called instead, with each text, and whether it is about a loss. `language`: another one than the command's.
    """
    from native_reader.errors import Warned
    from native_reader.sentences import say
    from rmqstore.cli.asked import spelled as flag

    language = language or spoken()  # here, because the engine's threads, which warn too, do not know it

    def warn(text: str, is_loss: bool) -> None:
        note(say("warning", what=text).text(language))

    logger = logging.getLogger(_LOGGER)
    before, logger.propagate = logger.propagate, False
    warned = Warned(_MOST_WARNINGS, flag, show or warn, lambda record: _text_of(record, language))
    try:
        with warned:
            yield warned
    finally:
        logger.propagate = before
        if warned.left_out:
            note(say("warnings left out", count=warned.left_out))
