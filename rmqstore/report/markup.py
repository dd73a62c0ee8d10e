"""HTML that is also well-formed XML. Every text and every attribute passes `escaped`."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from rmqstore.text import safe

_VOID = frozenset(("meta", "path", "line", "input"))
_MOST = 255


class Markup(str):
    """Text that is HTML already. Only this module, the style sheet and the table of all rows make it."""

    __slots__ = ()


def escaped(text: str) -> str:
    """The text for an element or an attribute. Characters that cannot be seen are written as on a terminal: `\\u202e`."""
    return html.escape(safe(text))


def shortened(text: str, most: int = _MOST) -> str:
    """At most that many characters. The names in a store have up to 32 KB."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def element(tag: str, *children: str | None, **attributes: str | int | None) -> Markup:
    """An element. Children that are not `Markup` are escaped; None is left out. `class_` is `class`, `stroke_width` is `stroke-width`."""
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(str(value))}"' for name, value in attributes.items() if value is not None
    )
    if tag in _VOID:
        return Markup(f"<{tag}{named}/>")
    return Markup(f"<{tag}{named}>{joined(*children)}</{tag}>")


def joined(*parts: str | None) -> Markup:
    """The parts one after another."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts if part is not None))


def filled(text: str, parts: Mapping[str, Markup]) -> Markup:
    """The text, escaped, with these parts in place of their `{name}`."""
    pieces = re.split(f"({'|'.join(re.escape(f'{{{name}}}') for name in parts)})", text)
    return joined(*(parts[piece[1:-1]] if index % 2 else piece for index, piece in enumerate(pieces)))


def name_of(text: str) -> Markup:
    """A name from the store. It cannot change the direction of the text around it."""
    return element("bdi", shortened(text))
