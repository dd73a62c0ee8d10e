"""The lists of lost messages as people read them: heads and states in their language, and an encoding that spreadsheets recognize."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from native_reader.account.states import STATES
from native_reader.lost.keys import KEY_COLUMNS
from native_reader.lost.rows import COLUMNS, Row, csv_lines
from native_reader.sentences import ENGLISH, Said

_MARK = "\ufeff"
"""Without this mark, Excel takes UTF-8 for the encoding of the system, which is GBK where people read Chinese."""
SUMMARY_COLUMNS = ("topic", "team", "folder", "first_store_timestamp", "last_store_timestamp", *STATES[3:])
LOST_LIST, TOPICS_LIST, KEYS_LIST = (tuple(name for name in names if name != "why") for names in (COLUMNS, SUMMARY_COLUMNS, KEY_COLUMNS))
"""The columns. `why` is the name of a cause, which `cause` tells in words."""


def name_of_list(stem: str, language: str) -> str | None:
    """The file beside `stem.csv`; None in English, where the names of columns are heads enough."""
    return None if language == ENGLISH else f"{stem}.{language}.csv"


def list_lines(columns: Sequence[str], rows: Iterable[Row], language: str) -> Iterator[str]:
    """As `csv_lines`, in that language."""
    heads = {name: Said(f"state {name}" if name in STATES else f"head {name}").text(language) for name in columns}
    told = ({head: _told(name, row, language) for name, head in heads.items()} for row in rows)
    for number, line in enumerate(csv_lines(list(heads.values()), told)):
        yield line if number else _MARK + line


def _told(name: str, row: Row, language: str) -> Any:
    match name:
        case "state":
            return Said(f"state {row['state']}").text(language)
        case "cause":
            return Said(f"because {row['why']}").text(language)
        case "answer":
            return Said(f"answer {row['answer']}").text(language)
        case _:
            return row[name]
