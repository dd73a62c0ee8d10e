"""A table of all rows, of which a script shows some: those that a reader searches for, in the order of any column.

The rows are one compressed block. In plain JSON, 50,000 topics would be more than half of what the page may have. Base64 has no character
that means something in HTML, and the script writes a name only as the text of an element, so a name cannot become an element or a script.
Without scripts, or in a browser that cannot decompress, the largest rows stay as a plain table.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rmqstore.report.blocks import note, times_in
from rmqstore.report.listing_script import SCRIPT
from rmqstore.report.markup import Markup, element
from rmqstore.report.words import Words

NAME, COUNT, SIZE, SHARE, TIME = "name", "count", "size", "share", "time"
"""How the script writes a value. A share is written of a size; a time is the minutes since 1970 that a clock on the wall shows."""
MOST_PACKED = 1_750_000
"""Characters of the block. With the rest of the page, less than 2 MB."""
_PAGES = "first_page", "previous_page", "next_page", "last_page"
_STYLES = {NAME: None, SHARE: "share"}


class Column(NamedTuple):
    """A column of the table. `title`: as people read it; `values`: one for each row, or the number of the column that has them."""

    title: str
    kind: str
    values: Sequence[str | int | None] | int


def allowed_script() -> str:
    """What a Content-Security-Policy says of the script: this one may run, and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()}'"


def script() -> Markup:
    """The script, for the end of a page that has a table of all rows."""
    return element("script", Markup(SCRIPT))


def listing(
    words: Words, largest: Markup, columns: Sequence[Column], *, sorted_by: int, whole: int, marks: Mapping[int, str], unlisted: int,
    zone_name: str,
) -> Markup:  # fmt: skip
    """The table of all rows, the largest first, and a plain one of the largest for a reader without scripts.

    The first column has the names. `sorted_by`: the column that is sorted first. `whole`: what shares are of. `marks`: by row, a remark
    beside its name. `unlisted`: how many rows there are beside these.
    """
    packed, listed = _packed(words, columns, sorted_by, whole, marks)
    unlisted += len(_names(columns)) - listed
    search = element("label", words.say("search"), " ", element("input", type="search", autocomplete="off", spellcheck="false"))
    pages = [element("button", words.say(title), type="button", value=title.removesuffix("_page")) for title in _PAGES]
    heads = [
        element("th", element("button", column.title, type="button", value=number), scope="col", class_=_STYLES.get(column.kind, "number"))
        for number, column in enumerate(columns)
    ]
    table = element("table", element("thead", element("tr", *heads)), element("tbody"))
    return element(
        "div",
        element("div", largest),
        note(words.say("needs_script", count=listed)),
        element(
            "div",
            element("p", search, element("span", *pages), class_="controls"),
            element("p", class_="note", role="status"),
            element("div", table, class_="wide"),
            note(words.say("unlisted", count=unlisted)) if unlisted else None,
            times_in(words, zone_name),
            hidden="hidden",
        ),
        element("script", Markup(packed), type="text/plain"),
        class_="listing",
    )


def _packed(words: Words, columns: Sequence[Column], sorted_by: int, whole: int, marks: Mapping[int, str]) -> tuple[str, int]:
    """The block, and how many of the first rows it has: as many as it may hold."""
    names = _names(columns)
    count = len(names)
    while True:
        # Names that begin alike are beside each other, which compresses best; the script sorts the rows anyway.
        order = sorted(range(count), key=names.__getitem__)
        content = {
            "columns": [[kind, values if isinstance(values, int) else [values[row] for row in order]] for _, kind, values in columns],
            "marks": {place: marks[row] for place, row in enumerate(order) if row in marks},
            "sorted": sorted_by,
            "whole": whole,
            "texts": _texts(words),
        }
        packed = base64.b64encode(gzip.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)).decode()
        if len(packed) <= MOST_PACKED or not count:
            return packed, count
        count = int(count * MOST_PACKED / len(packed) * 0.95)


def _names(columns: Sequence[Column]) -> list[str]:
    values = columns[0].values
    assert not isinstance(values, int)
    return [str(each) for each in values]


def _texts(words: Words) -> dict[str, str]:
    places = {name: f"{{{name}}}" for name in ("first", "last", "rows", "whole")}
    texts = {"shown": words.say("rows_shown", **places), "found": words.say("rows_found", **places), "none": words.say("no_row_found")}
    units = {name: words.measure(text).replace("1", "", 1) for name, text in (("byte", "1 byte"), ("bytes", "1 bytes"), ("percent", "1 %"))}
    return texts | units | {"tiny": words.measure("< 0.1 %")}
