"""The JSON of a broker's configuration files, as fastjson writes it: integer keys may have no quotes, as in `{0:12, 1:7}`.

White space differs between versions. Otherwise it is JSON in UTF-8.
"""

from __future__ import annotations

import json
import re
from typing import Any

DEEPEST = 32
"""Brokers nest at most six levels."""

_TEXT_OR_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*+"?)|(?<![0-9])(-?[0-9]++)(?=\s*+:)', re.DOTALL)
_TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_LONG_NUMBER = re.compile("[0-9]{4301}")
"""More digits than Python converts."""


class NotFastjson(ValueError):
    """The bytes are not such JSON. `position`: the first byte that is wrong; `expected`: what was expected there."""

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(f"byte {position:,}: {expected}")
        self.position, self.expected = position, expected


def parse(content: bytes) -> Any:
    """The value in a file; raises NotFastjson. The last of several equal keys counts."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise NotFastjson(error.start, "expected UTF-8") from None
    try:
        value = _loaded(text)
        is_too_deep = _is_too_deep(value)
    except json.JSONDecodeError as error:
        raise NotFastjson(_byte_of(text, error.pos), error.msg.replace("Expecting", "expected")) from None
    except ValueError:
        number = _LONG_NUMBER.search(text)
        raise NotFastjson(_byte_of(text, number.start() if number else 0), "expected a number of fewer digits") from None
    except RecursionError:
        is_too_deep = True
    if is_too_deep:
        raise NotFastjson(_byte_of(text, _first_too_deep(text)), f"expected at most {DEEPEST} nested levels")
    return value


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    try:
        return json.loads(_TEXT_OR_BARE_KEY.sub(lambda match: match[1] or f'"{match[2]}"', text))
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, text, _before_quoting(text, error.pos)) from None


def _before_quoting(text: str, position: int) -> int:
    """The position in `text` of a position in the text with quoted keys: each key before it added two characters."""
    added = 0
    for match in _TEXT_OR_BARE_KEY.finditer(text):
        if match.start() + added >= position:
            break
        if match[2] is not None:
            if position < match.end() + added + 2:
                return match.start()
            added += 2
    return position - added


def _byte_of(text: str, position: int) -> int:
    return len(text[:position].encode())


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [each for one in level for each in _items(one) if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _first_too_deep(text: str) -> int:
    depth = 0
    for match in _TEXT_OR_BRACKET.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth > DEEPEST:
            return match.start()
    return 0
