"""Tables on terminals of any width: nothing is cut off, and what is left out is named."""

from __future__ import annotations

import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from support.command_line import run_on_terminal, uncolored
from support.effort import sampled

from rmqstore.cli.rows import ColumnWidths, blocks

TEXTS = st.text(st.characters(codec="ascii", categories=("L", "N")), max_size=60) | st.text("主题a", max_size=20)


@sampled(200)
@given(st.data())
def test_no_character_is_cut_off(data: st.DataObject) -> None:
    columns = [f"column{number}" for number in range(data.draw(st.integers(1, 9)))]
    rows = data.draw(st.lists(st.tuples(*(TEXTS for _ in columns)), min_size=1, max_size=4))
    whole = data.draw(st.sets(st.sampled_from(columns)))
    rows = [tuple(text[:8] if name in whole else text for name, text in zip(columns, row, strict=True)) for row in rows]
    room, layout, stream = data.draw(st.integers(20, 200)), ColumnWidths(), io.StringIO()
    layout.widen(columns, columns, rows)
    shown = layout.shown(columns, whole, columns[-2:], room)
    console = Console(file=stream, width=room)
    if shown is None:
        console.print(blocks(columns, rows))
        expected = [*([columns] * len(rows)), *rows]
    else:
        cells = {name: (name, [row[place] for row in rows]) for place, name in enumerate(columns) if name in shown}
        console.print(layout.table(cells, whole, whole, room, has_head=True))
        expected = [[title, *texts] for title, texts in cells.values()]
        assert [name for name in columns if name in shown] == shown
    printed = stream.getvalue()
    assert max(map(cell_len, printed.splitlines())) <= room
    assert sorted("".join(printed.split()).replace("─", "")) == sorted("".join(text for texts in expected for text in texts))


def test_a_narrow_terminal_shows_the_most_important_columns(store: Path) -> None:
    """Rows that are wrapped inside words and numbers cannot be compared by eye."""
    head, line, *rows = uncolored(run_on_terminal("stat", store, width=60).out).splitlines()
    assert head.split() == ["topic", "messages", "bytes", "share", "last", "(UTC)"]
    assert len(line) <= 60
    assert sorted(row.split()[0] for row in rows[:3]) == ["T0", "T1", "T2"]
    assert rows[3] == "not shown on 60 columns: mean, largest, first (UTC). A wider terminal or --json has them"
    assert uncolored(run_on_terminal("ls", store, "--queues", width=55).out).splitlines()[1].split() == [
        "topic",
        "queue_id",
        "min_offset",
        "max_offset",
        "found",
    ]


def test_names_are_not_broken_unless_they_are_very_long() -> None:
    """They are copied from the terminal."""
    columns, rows = ("group", "topic", "count"), [("checkout-service-payments", "%RETRY%checkout-service", "7"), ("g", "long" * 25, "8")]
    layout, stream = ColumnWidths(), io.StringIO()
    layout.widen(columns, columns, rows)
    room = 25 + 3 + 23 + 3 + 5
    assert layout.shown(columns, ["count"], (), room) == list(columns)
    assert layout.shown(columns, ["count"], (), room - 1) is None
    cells = {name: (name, [row[place] for row in rows]) for place, name in enumerate(columns)}
    Console(file=stream, width=room).print(layout.table(cells, ["count"], ["count"], room, has_head=True))
    assert "checkout-service-payments   %RETRY%checkout-service       7\n" in stream.getvalue()


def test_rows_that_do_not_fit_become_blocks(store: Path) -> None:
    lines = uncolored(run_on_terminal("tables", store, "queues", width=70).out).splitlines()
    assert lines.pop(0) == f"store: {store}"
    first, second = lines[: lines.index("")], lines[lines.index("") + 1 :]
    titles = [line.split()[0] for line in first if not line.startswith(" ")]
    assert titles[:5] == ["topic", "queue_id", "type", "min_offset", "max_offset"]
    assert [line.split()[0] for line in second if line.strip() and not line.startswith(" ")][: len(titles)] == titles
