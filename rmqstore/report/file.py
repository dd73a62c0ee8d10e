"""Writes the report of a store to a file, as a page or as metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar

import native_reader as nr
from native_reader.export.target import refuse_inside
from native_reader.text import counted
from rmqstore.report.metrics import metrics_text
from rmqstore.report.page import page_of

Made = TypeVar("Made")


def write_report(store: nr.Store, output: Path, language: str = "en", title: str | None = None, **settings: Any) -> nr.Facts:
    """Write the page to a new file, then rename it: `output` is never half a page. `settings`: the arguments of `Store.report`."""

    def read() -> tuple[nr.Facts, str]:
        facts = store.report(**settings)
        return facts, page_of(facts, language, title)

    return _written(output, store, read)


def write_metrics(store: nr.Store, output: Path, names: Sequence[str] = (), **settings: Any) -> dict[str, nr.Facts]:
    """Write the metrics of these stores likewise. Returns the facts by broker. `names`: of the brokers, in the order of the stores."""
    stores = store.one_by_one()
    if names and len(names) != len(stores):
        raise nr.OptionError(f"--name is given {counted(len(names), 'time')}, but there are {counted(len(stores), 'store')}")

    if twice := next((name for name in names if names.count(name) > 1), None):
        raise nr.OptionError(f"--name {twice!r} is given twice")

    def read() -> tuple[dict[str, nr.Facts], str]:
        brokers: dict[str, nr.Facts] = {}
        for place, one in enumerate(stores):
            facts = one.report(**settings)
            name = names[place] if names else facts.broker.broker or _directory(facts.uri)
            if name in brokers:
                both = f"{brokers[name].uri} and {facts.uri}"
                raise nr.OptionError(f"{both} are both of broker {name!r}. Add a --name for each store, in their order")
            brokers[name] = facts
        return brokers, metrics_text(brokers)

    return _written(output, store, read)


def _directory(uri: str) -> str:
    return uri.rstrip("/").rpartition("/")[2]


def _written(output: Path, store: nr.Store, read: Callable[[], tuple[Made, str]]) -> Made:
    """Write the text that `read` returns; returns what it was made from."""
    refuse_inside(str(output), store.stores)
    output = _destination(output)
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with _opened(part, output) as file:  # before the log is read, which may take hours
            made, text = read()
            try:
                file.write(text)
                file.close()
                part.replace(output)
            except OSError as error:
                raise nr.ExportError(f"{output}: could not write: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            part.unlink()
    return made


def _opened(part: Path, output: Path) -> TextIO:
    try:
        return part.open("x", encoding="utf-8")
    except FileNotFoundError as error:
        raise nr.OptionError(f"{output}: cannot write there: the folder {output.parent} does not exist. Make it first") from error
    except OSError as error:
        raise nr.OptionError(f"{output}: cannot write there: {error.strerror}") from error


def _destination(output: Path) -> Path:
    """What is to be replaced: of a link, the file that it leads to."""
    if output.exists() and not output.is_file():
        kind = "a folder" if output.is_dir() else "not a regular file"
        raise nr.OptionError(f"{output}: cannot write there: it is {kind}. Name a file")
    return output.resolve() if output.is_symlink() else output
