"""A page before it is written in one language and format: titles, lists and tables of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from native_reader.text import Said

Cell = int | str | Said | None
"""Of a table. A text is a name from a store: it can hold anything."""


class Lines(NamedTuple):
    """Paragraphs."""

    said: Sequence[Said]


class Items(NamedTuple):
    """A list. Only the steps of a procedure are numbered."""

    said: Sequence[Said]
    is_numbered: bool = False


class Result(NamedTuple):
    """One of the main results, with its label. A warning is about what a reader must not do."""

    label: Said
    said: Said
    is_warning: bool = False


class Results(NamedTuple):
    """The main results."""

    rows: Sequence[Result]


class Code(NamedTuple):
    """Lines of a program."""

    language: str
    lines: Sequence[str]


class Table(NamedTuple):
    """A table: the titles of its columns, and its rows."""

    titles: Sequence[Said]
    rows: Sequence[Sequence[Cell]]


Block = Lines | Items | Results | Code | Table


class Section(NamedTuple):
    """A part of the page."""

    title: Said
    blocks: Sequence[Block]


class Document(NamedTuple):
    """A page."""

    title: Said
    blocks: Sequence[Block]
    sections: Sequence[Section]
