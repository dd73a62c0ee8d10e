"""Writes the report of a store to a file, as a page or as metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import native_reader as nr
from native_reader.export.target import refuse_inside
from native_reader.sentences import Said, say, words_of
from rmqstore.report.metrics import metrics_text
from rmqstore.report.page import page_of, page_of_brokers

Names = Mapping[str, str]
"""The name of each store's broker, by the URI of the store."""


def write_report(
    store: nr.Store, output: Path, language: str = "en", title: str | None = None, names: Names | None = None, **settings: Any
) -> dict[str, nr.Facts]:
    """Write the page to a new file, then rename it: `output` is never half a page. Returns the facts by broker.

    `names`: as `Store.brokers` returns them, which is the default. `settings`: the arguments of `Store.report`.
    """
    return _written(output, store, names, settings, lambda brokers: _page(brokers, language, title))


def write_metrics(store: nr.Store, output: Path, names: Names | None = None, **settings: Any) -> dict[str, nr.Facts]:
    """Write the metrics of these stores likewise."""
    return _written(output, store, names, settings, metrics_text)


def _page(brokers: Mapping[str, nr.Facts], language: str, title: str | None) -> str:
    if len(brokers) > 1:
        return page_of_brokers(brokers, language, title)
    (facts,) = brokers.values()
    return page_of(facts, language, title)


def _facts_of(store: nr.Store, names: Names, settings: Mapping[str, Any]) -> dict[str, nr.Facts]:
    found = {}
    for one in store.one_by_one():
        facts = one.report(**settings)
        name = names[facts.uri]
        found[name] = replace(facts, broker=facts.broker._replace(broker=name))
    return found


def _written(
    output: Path, store: nr.Store, names: Names | None, settings: Mapping[str, Any], make: Callable[[Mapping[str, nr.Facts]], str]
) -> dict[str, nr.Facts]:
    """Write the text that `make` returns of the facts; returns these."""
    names = store.brokers() if names is None else names
    refuse_inside(str(output), store.stores)
    output = _destination(output)
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with _opened(part, output) as file:  # before the log is read, which may take hours
            brokers = _facts_of(store, names, settings)
            text = make(brokers)
            try:
                file.write(text)
                file.close()
                part.replace(output)
            except OSError as error:
                raise nr.ExportError(say("file not written", path=str(output), why=words_of(error))) from error
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            part.unlink()
    return brokers


def _opened(part: Path, output: Path) -> TextIO:
    try:
        return part.open("x", encoding="utf-8")
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not output.parent.is_dir():  # /proc exists, but no file can be made in it
            raise nr.ExportError(say("output without folder", path=str(output), parent=str(output.parent))) from error
        raise nr.ExportError(say("output not opened", path=str(output), why=words_of(error))) from error


def _destination(output: Path) -> Path:
    """What is to be replaced: of a link, the file that it leads to."""
    if output.exists() and not output.is_file():
        what = Said("output is a folder" if output.is_dir() else "output is no file")
        raise nr.OptionError(say("output of other kind", output=str(output), what=what))
    return output.resolve() if output.is_symlink() else output
