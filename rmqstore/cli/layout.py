"""Tables that fit a terminal: less important columns are left out, long texts are folded, or each row is a block of lines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

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
