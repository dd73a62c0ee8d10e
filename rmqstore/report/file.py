"""Writes the report of a store to a file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import native_reader as nr
from native_reader.export.target import refuse_inside
from rmqstore.report.page import page_of


def write_report(store: nr.Store, output: Path, language: str = "en", title: str | None = None, **settings: Any) -> nr.Facts:
    """Write the page to a new file, then rename it: `output` is never half a page. `settings`: the arguments of `Store.report`."""
    refuse_inside(str(output), store.stores)
    output = _destination(output)
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with _opened(part, output) as file:  # before the log is read, which may take hours
            facts = store.report(**settings)
            page = page_of(facts, language, title)
            try:
                file.write(page)
                file.close()
                part.replace(output)
            except OSError as error:
                raise nr.ExportError(f"{output}: could not write: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            part.unlink()
    return facts


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
