"""Values of partition columns as names of folders, in the style of Hive: `topic=orders`. Any text is safe, and can be read back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from urllib.parse import unquote

NULL = "__HIVE_DEFAULT_PARTITION__"
EMPTY = "__EMPTY__"
LONGEST = 255
"""The most bytes of a name that common file systems accept."""
_CUT = "~"
_HASH_DIGITS = 32
_KEPT = re.compile(r"[A-Za-z0-9_.\-]")


def folder_name(column: str, value: str | int | None) -> str:
    """The name of the folder for that value. If it would be too long, it is cut and ends in a hash."""
    if value is None:
        return f"{column}={NULL}"
    text = str(value)
    escaped = [*map(_escaped, text)] if text else [EMPTY]
    if text in (NULL, EMPTY):
        escaped[0] = "%5F"
    name = f"{column}={''.join(escaped)}"
    if len(name.encode()) <= LONGEST:
        return name
    room = LONGEST - len(f"{column}={_CUT}") - _HASH_DIGITS
    kept = ""
    for each in escaped:
        room -= len(each.encode())
        if room < 0:
            break
        kept += each
    return f"{column}={kept}{_CUT}{hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]}"


def value_of(name: str, cut: Mapping[str, str]) -> tuple[str, str | None]:
    """The column and the value, as text, of a folder. `cut`: the values of names that are cut."""
    column, _, text = name.partition("=")
    if text == NULL:
        return column, None
    if name in cut:
        return column, cut[name]
    return column, "" if text == EMPTY else unquote(text, errors="strict")


def is_cut(name: str) -> bool:
    """Whether the name does not contain its whole value."""
    return _CUT in name


def _escaped(character: str) -> str:
    # Characters of other scripts stay readable. Of these, only the unprintable ones are escaped: they can disguise a name.
    if _KEPT.match(character) or (ord(character) >= 0x80 and character.isprintable()):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode())
