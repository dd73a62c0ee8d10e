"""Rows on standard output: a table that fits the terminal, tab-separated lines in a pipe, or JSON lines.

On a narrow terminal, less important columns are left out, long texts are folded, or each row is a block of lines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqstore.cli import stderr
from rmqstore.cli.spoken import spoken
from rmqstore.text import AUTO, NONE, as_json, body_of, cell, for_people, plain

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import RenderableType

    from native_reader.sentences import Said


Row = Mapping[str, Any]

_AT_ONCE = 500
"""Rows of one table on a terminal: its columns are as wide as their widest cell, which must be known first."""
_BAR = 10
_PLACES = ("store", "segment", "file")
"""Columns with URIs. People see paths; programs get what the tables have."""


class ColumnLook(NamedTuple):
    """How a column looks to people: its text on a terminal, whether it is a number, and a shorter title."""

    text: Callable[[Any], str]
    is_number: bool = True
    title: str | None = None


def number(value: Any) -> str:
    """1,234,567."""
    return f"{value:,}"


def size(value: Any) -> str:
    """1.5 GiB."""
    from native_reader.text import in_chinese, size_of

    return in_chinese(size_of(value)) if spoken() == "zh" else size_of(value)


def share(value: Any) -> str:
    """A share of 1 as text and as a bar."""
    return f"{value:6.1%} {'█' * round(value * _BAR)}"


NUMBER, SIZE, SHARE = ColumnLook(number), ColumnLook(size), ColumnLook(share, is_number=False)


def is_terminal() -> bool:
    """Whether people read standard output."""
    return sys.stdout.isatty()


class Output:
    """Prints rows in the form that fits standard output. `looks`: columns that people see in another way than programs.

    `body`: how binary columns are shown. `zone`: of times.
    """

    def __init__(self, *, json: bool, zone: tzinfo | None = None, body: str = AUTO) -> None:
        self.is_json, self.is_terminal = json, not json and is_terminal()
        self.zone, self.body = zone, AUTO if body == NONE else body
        self._has_head = False
        self._layout = ColumnWidths()
        self._left_out: Said | None = None

    def rows(
        self, columns: Sequence[str], rows: Iterable[Row], looks: Mapping[str, ColumnLook] | None = None, less: Sequence[str] = ()
    ) -> None:
        """Print rows with these columns. In a pipe, the first line has their names.

        `less`: columns that a narrow terminal does not show, the first one first.
        """
        if self.is_json:
            for row in rows:
                self.line(as_json(self._object(columns, row)))
        elif self.is_terminal:
            remaining = iter(rows)
            while some := list(islice(remaining, _AT_ONCE)):
                self._table(columns, some, looks or {}, less)
                self._has_head = True
            if self._left_out is not None:
                sys.stdout.flush()
                stderr.note(self._left_out)
                self._left_out = None
        else:
            if not self._has_head:
                self.line("\t".join(columns))
            for row in rows:
                self.line("\t".join(cell(row[name], self.zone, self.body) for name in columns))
            self._has_head = True
        sys.stdout.flush()

    def batches(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], hidden: Collection[str] = (), less: Sequence[str] = ()) -> int:
        """Print Arrow batches as they come; returns the number of rows. `hidden`: columns to leave out. `less`: as in `rows`."""
        looks, count = looks_of(schema), 0
        if not self.is_json and not self.is_terminal:
            self.rows(schema.names, ())
        for batch in batches:
            count += len(batch)
            stderr.clear()
            self.rows([name for name in schema.names if name not in hidden], rows_of(batch), looks, less)
        return count

    def line(self, text: str) -> None:
        """One line; its text must be safe already."""
        sys.stdout.write(f"{text}\n")

    def styled(self, text: str, **style: Any) -> str:
        """The text with colors, if people see it and want them."""
        return click.style(text, **style) if self.is_terminal and not os.environ.get("NO_COLOR") else text

    def _object(self, columns: Sequence[str], row: Row) -> dict[str, Any]:
        """A row for JSON. A binary column has a second one that names its form."""
        found: dict[str, Any] = {}
        for name in columns:
            value = row[name]
            if isinstance(value, bytes):
                form, found[name] = body_of(value, self.body)
                found[f"{name}_form"] = form
            else:
                found[name] = plain(value, self.zone)
        return found

    def _table(self, columns: Sequence[str], rows: Sequence[Row], looks: Mapping[str, ColumnLook], less: Sequence[str]) -> None:
        from rich.console import Console

        # Texts are not markup: rich would read [red] in a name as such.
        console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
        texts = [[self._seen(name, row[name], looks.get(name)) for name in columns] for row in rows]
        titles = [look.title if (look := looks.get(name)) and look.title else name for name in columns]
        self._layout.widen(columns, titles, texts)
        shown = self._layout.shown(columns, looks.keys(), less, console.width)
        if shown is None:
            console.print(blocks(titles, texts))
            return
        if left_out := [title for name, title in zip(columns, titles, strict=True) if name not in shown]:
            from native_reader.sentences import joined, say, verbatim

            self._left_out = say("columns left out", width=console.width, names=joined("commas", [*map(verbatim, left_out)]))
        numbers = {name for name, look in looks.items() if look.is_number}
        cells = {name: (title, [text[place] for text in texts]) for place, (name, title) in enumerate(zip(columns, titles, strict=True))}
        fits = self._layout.fits(shown, console.width)
        # A table that is too wide has other widths for each portion of its rows, so each has titles.
        of_shown, has_head = {name: cells[name] for name in shown}, not (self._has_head and fits)
        console.print(self._layout.table(of_shown, looks.keys(), numbers, console.width, has_head=has_head))

    def _seen(self, name: str, value: Any, look: ColumnLook | None) -> str:
        if name in _PLACES and isinstance(value, str):
            return for_people(value)
        return cell(value, self.zone, self.body) if value is None or look is None else look.text(value)


def looks_of(schema: pa.Schema) -> dict[str, ColumnLook]:
    """How the columns of a table look by their types and names."""
    import pyarrow as pa

    found = {}
    for each in schema:
        if each.name == "share":
            found[each.name] = SHARE
        elif pa.types.is_integer(each.type):
            found[each.name] = SIZE if each.name == "bytes" or each.name.endswith("_bytes") else NUMBER
    return found


def rows_of(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch as Python has them; maps as dicts."""
    import pyarrow as pa

    from native_reader.arrow import listed

    if not any(pa.types.is_nested(each.type) for each in batch.schema):
        yield from batch.to_pylist()
        return
    for row in zip(*map(listed, batch.columns), strict=True):
        yield dict(zip(batch.schema.names, row, strict=True))


_BETWEEN = 3
"""Spaces between two columns of a table."""
_EASY, _LEAST = 40, 16
"""How wide a folded text should be, and must be. Names up to the first are never broken: they are copied."""


class ColumnWidths:
    """The widths of the columns so far, so that later rows stand below earlier ones."""

    def __init__(self) -> None:
        self._widths: dict[str, int] = {}
        self._leasts: dict[str, int] = {}

    def widen(self, columns: Sequence[str], titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Make room for these texts."""
        from rich.cells import cell_len

        for name, *texts in zip(columns, titles, *rows, strict=True):
            self._widths[name] = max(self._widths.get(name, 0), *map(cell_len, texts))
            words = (cell_len(word) for text in texts for word in text.split())
            self._leasts[name] = max(self._leasts.get(name, _LEAST), *(width for width in words if width <= _EASY), 0)

    def shown(self, columns: Sequence[str], whole: Collection[str], less: Sequence[str], room: int) -> list[str] | None:
        """The columns that fit; None if rows must be blocks. `whole`: not to be folded. `less`: may be left out, in this order."""
        shown, unfolded = list(columns), {*whole, *less}  # a folded text that may be left out would make each row longer
        for name in [name for name in less if name in shown]:
            if self._needed(shown, unfolded, dict.fromkeys(shown, _EASY)) <= room:
                break
            shown.remove(name)
        return shown if self._needed(shown, whole, self._leasts) <= room else None

    def fits(self, columns: Collection[str], room: int) -> bool:
        """Whether nothing must be folded."""
        return self._needed(columns, columns, {}) <= room

    def _needed(self, columns: Collection[str], whole: Collection[str], folded: Mapping[str, int]) -> int:
        widths = [self._widths[name] if name in whole else min(self._widths[name], folded[name]) for name in columns]
        return sum(widths) + _BETWEEN * (len(widths) - 1)

    def _fitted(self, columns: Collection[str], whole: Collection[str], room: int) -> dict[str, int]:
        """The widths of columns that fit. Texts get equal parts of what is left, unless they need less, or must have more."""
        # Not left to rich, which cuts off texts where its rounding is wrong.
        widths = {name: self._widths[name] for name in columns}
        left = room - _BETWEEN * (len(widths) - 1) - sum(width for name, width in widths.items() if name in whole)
        texts = sorted((name for name in columns if name not in whole), key=lambda name: widths[name])
        for place, name in enumerate(texts, 1):
            most = left - sum(min(widths[other], self._leasts[other]) for other in texts[place:])
            equal = left // (len(texts) - place + 1)
            widths[name] = min(widths[name], most, max(equal, self._leasts[name]))
            left -= widths[name]
        return widths

    def table(
        self, cells: Mapping[str, tuple[str, Sequence[str]]], whole: Collection[str], numbers: Collection[str], room: int, *, has_head: bool
    ) -> RenderableType:
        """A table of titles and texts by column."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=has_head)
        for name, width in self._fitted(cells, whole, room).items():
            table.add_column(Text(cells[name][0]), justify="right" if name in numbers else "left", overflow="fold", width=width)
        for row in zip(*(texts for _, texts in cells.values()), strict=True):
            table.add_row(*map(Text, row))
        return table


def blocks(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    """Each row as lines of title and text."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    for row in rows:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for title, text in zip(titles, row, strict=True):
            grid.add_row(Text(title, style="bold"), Text(text))
        parts += [grid, Text()]
    return Group(*parts)
