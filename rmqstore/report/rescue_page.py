"""The page of a rescue as HTML, in the look of a report. `native_reader` says what it has, in no language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC

from native_reader.errors import spelled
from native_reader.markdown import Block, Cell, Code, Document, Items, Lines, Results, Table
from native_reader.sentences import Said
from native_reader.text import number_of, with_paths
from rmqstore.report.blocks import LONG, NUMBER, TEXT, name, pairs, table
from rmqstore.report.frame import contents, framed
from rmqstore.report.markup import Markup, element, filled, joined, shortened
from rmqstore.report.words import Words
from rmqstore.text import safe

_LONGEST = 1000
_WORDS = 30
"""A longer text of a cell is a sentence."""
_BACKTICK = "\x00"
"""Stands for a backtick in a name: only those of a sentence mean code. A name has no such character after `safe`."""


def _say(words: Words, said: Said) -> Markup:
    """What is between backticks in a sentence is code."""
    parts = spelled(said.text(words.language, _written), str).split("`")
    pieces = [part.replace(_BACKTICK, "`") for part in parts]
    return joined(*(element("code", piece) if number % 2 else piece for number, piece in enumerate(pieces)))


def _written(value: str) -> str:
    return shortened(safe(with_paths(spelled(value, str))), _LONGEST).replace("`", _BACKTICK)


def rescue_page(page: Document, language: str) -> str:
    """The page as HTML, which is also well-formed XML. The same document gives the same page."""
    words = Words(language, UTC)
    title = _say(words, page.title)
    titles = {each.title.kind.replace(" ", "-"): _say(words, each.title) for each in page.sections}
    sections = [
        element("section", element("h2", text), *_blocks(each.blocks, words), id=identity)
        for (identity, text), each in zip(titles.items(), page.sections, strict=True)
    ]
    header = element("header", element("h1", title), *_blocks(page.blocks, words))
    body = element("body", header, contents(words.say("contents"), titles.items()), element("main", *sections))
    return framed(title, language, body)


def _blocks(blocks: Iterable[Block], words: Words) -> Iterator[Markup]:
    for block in blocks:
        match block:
            case Lines(said):
                yield from (element("p", _say(words, each)) for each in said)
            case Items(said, is_numbered):
                yield element("ol" if is_numbered else "ul", *(element("li", _say(words, each)) for each in said))
            case Results():
                yield from _results(block, words)
            case Code(_, lines):
                yield element("pre", *(element("code", line) for line in lines))
            case Table():
                yield _table(block, words)


def _results(block: Results, words: Words) -> Iterator[Markup]:
    """What must not be done is above all else."""
    for row in block.rows:
        if row.is_warning:
            text = {"first": _say(words, row.label), "second": _say(words, row.said)}
            yield element("p", filled(words.say("two_sentences", first="{first}", second="{second}"), text), class_="warning")
    rows = [(_say(words, row.label), _say(words, row.said)) for row in block.rows if not row.is_warning]
    yield pairs(rows)


def _table(block: Table, words: Words) -> Markup:
    rows = [[_cell(cell, words) for cell in row] for row in block.rows]
    styles = [_style([row[place] for row in block.rows], [row[place] for row in rows]) for place in range(len(block.titles))]
    return table(list(zip((_say(words, title) for title in block.titles), styles, strict=True)), rows)


def _style(cells: Sequence[Cell], written: Sequence[str | None]) -> str:
    """A column of numbers has only numbers and None; one with a sentence is wide."""
    if all(isinstance(cell, int | None) for cell in cells):
        return NUMBER
    has_sentence = any(isinstance(cell, Said) and len(text or "") > _WORDS for cell, text in zip(cells, written, strict=True))
    return LONG if has_sentence else TEXT


def _cell(cell: Cell, words: Words) -> Markup | str | None:
    match cell:
        case Said():
            return _say(words, cell)
        case int():
            return number_of(cell)
        case None:
            return None
        case _:
            return name(words, with_paths(cell))
