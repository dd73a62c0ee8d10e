"""The errors of the engine, and its warnings. Each error is a StoreError and the matching built-in error.

A message says what happened, where, what was expected, and what to do next. It never shows bodies or property values.
"""

from __future__ import annotations

import difflib
import errno
import logging
import re
import reprlib
from collections.abc import Callable, Iterable
from typing import Protocol, Self, runtime_checkable

_LONGEST, _TAIL = 2000, 500
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MARKED = re.compile(r"\x0e(\w+(?:=\w+)?)\x0f")
_OF_DISKS = frozenset(getattr(errno, name, -1) for name in ("EIO", "ENODATA", "EILSEQ", "EREMOTEIO", "EBADMSG", "EUCLEAN"))
"""Some systems have only some of them."""
_SECRETS = re.compile(r"(?<=://)[^/@:\[\s'\"]*:(?!\d{1,5}(?:[/\s'\"]|$))[^\s'\"]*@")
"""The name and the secret in a URI, as in `hdfs://name:secret@host`; not a port."""
_LOGGER = "native_reader"
_MOST_KNOWN = 1000
"""Texts of warnings that are kept, so that none counts twice."""
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200


@runtime_checkable
class Sentence(Protocol):
    """What an error or a warning says, in each language: a Said of `sentences`, which is above this file."""

    def text(self, language: str = "en", /) -> str:
        """The sentence in that language."""


class StoreError(Exception):
    """Base class: a store, or a request to read it, is wrong. The message is always printable and of limited length.

    Attributes:
        said: What the message says, for other languages; None if there is only the text.

    Examples:
        >>> try:
        ...     rmqstore.open("stor")
        ... except rmqstore.StoreError as error:
        ...     print(type(error).__name__)
        PathError
    """

    said: object = None

    def __init__(self, *arguments: object) -> None:
        """`arguments`: a text, or a sentence whose English text the error has from then on."""
        if (said := next((each for each in arguments if isinstance(each, Sentence)), None)) is not None:
            self.said = said
        self._marked = tuple(each.text() if isinstance(each, Sentence) else each for each in arguments)
        super().__init__(*(_printable(spelled(each, str)) if isinstance(each, str) else each for each in self._marked))

    def spelled(self, spell: Callable[[str], str]) -> Self:
        """The same error with its option names as `spell` writes them."""
        return self._changed(lambda text: spelled(text, spell))

    def extended(self, advice: str) -> Self:
        """The same error with more advice, in English only."""
        error = self._changed(lambda text: f"{text.rstrip('.')}. {advice}")
        error.said = None
        return error

    def _changed(self, change: Callable[[str], str]) -> Self:
        error = type(self)(*(change(each) if isinstance(each, str) else each for each in self._marked))
        error.__dict__.update({name: value for name, value in self.__dict__.items() if name != "_marked"})
        return error


class PathError(StoreError, FileNotFoundError):
    """The path is not a store.

    Examples:
        >>> rmqstore.open("stor")
        Traceback (most recent call last):
        native_reader.errors.PathError: .../stor does not exist. Did you mean 'store'?
    """


class OptionError(StoreError, ValueError):
    """An option is unknown or has an invalid value.

    Examples:
        >>> store.messages(topics="orders")
        Traceback (most recent call last):
        native_reader.errors.OptionError: unknown option 'topics'. Did you mean 'topic'? ...
    """


class UseError(StoreError, TypeError):
    """An object does not support this use.

    Examples:
        >>> len(store.messages())
        Traceback (most recent call last):
        native_reader.errors.UseError: a Scan has no length. Use .count_rows() for rows, len(scan.schema) for columns
    """


class PredicateError(OptionError):
    """A condition is invalid.

    Examples:
        >>> store.messages(where="queue_id = '12'")
        Traceback (most recent call last):
        native_reader.errors.PredicateError: where: queue_id is an integer, but is compared with text. ...
    """


class SchemaError(StoreError, LookupError):
    """A column does not exist, or cannot be returned as requested.

    Examples:
        >>> store.messages(columns="bodi")
        Traceback (most recent call last):
        native_reader.errors.SchemaError: column 'bodi' does not exist. Did you mean 'body'? ...
    """


class StoreDamaged(StoreError, ValueError):
    """A store has damaged bytes.

    Examples:
        >>> damaged = rmqstore.open("damaged")
        >>> damaged.messages().count_rows()
        Traceback (most recent call last):
        native_reader.errors.StoreDamaged: ...
        >>> damaged.messages(mode="DROPMALFORMED").count_rows()
        246
    """


class DataLoss(StoreError, OSError):
    """Data that was or should be in the log is missing.

    Attributes:
        is_file_gone: Whether a whole file disappeared after planning.

    Examples:
        >>> incomplete = rmqstore.open("incomplete")
        >>> incomplete.messages().count_rows()
        Traceback (most recent call last):
        native_reader.errors.DataLoss: ...
        >>> incomplete.messages(fail_on_data_loss=False).count_rows()
        189
    """

    is_file_gone = False


class SplitError(StoreError, RuntimeError):
    """A split boundary is at bytes that only look like a record.

    Examples:
        >>> scan = store.messages()
        >>> try:
        ...     rows = scan.count_rows()
        ... except rmqstore.SplitError:  # one split for each segment has no boundary inside
        ...     rows = store.messages(max_partition_bytes="1g").count_rows()
    """


class UnreadableError(StoreError, OSError):
    """A file of the store cannot be read.

    Examples:
        >>> try:
        ...     rows = store.messages().count_rows()
        ... except rmqstore.UnreadableError as error:
        ...     print("Replace the disk" if error.is_of_disk else error)
    """

    def __str__(self) -> str:
        """Without the number that Python puts before it: the text says it in words."""
        return self.strerror or super().__str__()

    @property
    def is_of_disk(self) -> bool:
        """Whether a disk or its file system lost bytes. After other errors, such as those of a lost network, nothing is known of them."""
        return self.errno in _OF_DISKS


class ExportError(StoreError, OSError):
    """An export cannot be written, or cannot be continued.

    Examples:
        >>> from pathlib import Path
        >>> size = Path("taken").write_bytes(b"a file, not a folder")
        >>> store.messages().export("taken")
        Traceback (most recent call last):
        native_reader.errors.ExportError: ...
    """


class RepairError(StoreError, ValueError):
    """A store is not repaired: its kind is refused, or the new store is not what it should be.

    Examples:
        >>> from pathlib import Path
        >>> Path("full").mkdir()
        >>> size = Path("full/file").write_bytes(b"")
        >>> store.repair("full")
        Traceback (most recent call last):
        native_reader.errors.RepairError: ...
    """


def shown(value: object) -> str:
    """A short `repr` of a value for errors; safe even if the value's own methods fail."""
    try:
        return _SHORT.repr(value).replace("\n", " ")
    except Exception:
        return f"<{type(value).__name__}>"


def without_secrets(text: str) -> str:
    """The text with `***` for the name and the secret in each URI."""
    return _SECRETS.sub("***@", text) if "://" in text else text


def _printable(text: str) -> str:
    """The text without secrets and unprintable characters; long text is shortened in the middle."""
    text = without_secrets(text)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - _TAIL]} … {text[-_TAIL:]}"
    return _UNPRINTABLE.sub(lambda character: ascii(character[0])[1:-1], text)


def option_name(name: str, value: bool | None = None) -> str:
    """The name of an option, or `name=value`, in an error text; marked, so that the command and Spark write it in their own way."""
    return f"\x0e{name}\x0f" if value is None else f"\x0e{name}={value}\x0f"


def spelled(text: str, spell: Callable[[str], str]) -> str:
    """The text with each marked option name as `spell` writes it; `str` writes Python's names."""
    return _MARKED.sub(lambda marked: spell(marked[1]), text)


def text_in(said: Sentence, language: str, spell: Callable[[str], str]) -> str:
    """What an error or a warning says in that language, as safe as the text of an error."""
    return _printable(spelled(said.text(language), spell))


class Line(str):
    """A warning as a text, in English; `said`: the same for other languages.

    `is_loss`: whether it is about a loss. `is_unknown`: about a name in the conditions that the stores do not have.
    """

    said: Sentence
    is_loss: bool
    is_unknown: bool

    def __new__(cls, said: Sentence, *, is_loss: bool = False, is_unknown: bool = False) -> Self:
        line = super().__new__(cls, said.text())
        line.said, line.is_loss, line.is_unknown = said, is_loss, is_unknown
        return line


def warn(log: logging.Logger, said: Sentence, *, is_loss: bool = False, is_unknown: bool = False) -> None:
    """Log a warning: its text in English, with what it says for other languages. The marks are those of `Warned`."""
    log.warning("%s", text_in(said, "en", str), extra={"said": said, "is_loss": is_loss, "is_unknown": is_unknown})


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one; None if none is."""
    if len(name) > _TAIL:
        return None
    by_folded = {each.lower().replace("_", ""): each for each in known}
    folded = name.lower().replace("_", "")
    near = difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.5)
    return by_folded[near[0]] if near and _is_near(folded, near[0]) else None


def _is_near(name: str, known: str) -> bool:
    """Whether two names are worth a guess: `endpoint` and `endpointoverride`, but not `status` and `tags`."""
    both = difflib.SequenceMatcher(None, name, known)
    return both.ratio() > 0.6 or both.find_longest_match().size > min(len(name), len(known)) / 2


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the nearest known name, or an empty text."""
    near = nearest(name, known)
    return "" if near is None else f" Did you mean '{near}'?"


class Warned(logging.Handler):
    """The engine's warnings while it is entered: each text once, and the first `most` only; `left_out` counts the others.

    `has_loss`: whether one of them was about damage or lost messages. `has_unknown`: whether one was about a read without rows whose
    conditions have a name that the stores do not have. `name`: how an option is written. `show`: called with each text, and whether it
    is about a loss. `text_of`: another language; warnings about losses have what they say in `said`.
    """

    def __init__(
        self,
        most: int,
        name: Callable[[str], str] = str,
        show: Callable[[str, bool], object] = lambda text, is_loss: None,
        text_of: Callable[[logging.LogRecord], str] = logging.LogRecord.getMessage,
    ) -> None:
        super().__init__(logging.WARNING)
        self._most, self._name, self._show, self._text_of = most, name, show, text_of
        self._known: set[str] = set()
        self.texts: list[str] = []
        self.said: list[object] = []
        """What each text says, for other languages; None if it has only a text."""
        self.left_out = 0
        self.has_loss = self.has_unknown = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        is_loss = any(isinstance(each, DataLoss) or getattr(each, "is_loss", False) for each in (record, *arguments))
        self.has_loss |= is_loss
        self.has_unknown |= getattr(record, "is_unknown", False)
        text = spelled(self._text_of(record), self._name)
        if text in self._known:
            return
        if len(self._known) < _MOST_KNOWN:
            self._known.add(text)
        if len(self.texts) < self._most:
            self.texts.append(text)
            self.said.append(getattr(record, "said", None))
            self._show(text, is_loss)
        else:
            self.left_out += 1

    def __enter__(self) -> Self:
        logging.getLogger(_LOGGER).addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger(_LOGGER).removeHandler(self)
