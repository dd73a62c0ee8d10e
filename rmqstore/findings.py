"""A finding of the check as people read it, in English and Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from native_reader import Verification
from native_reader.errors import spelled
from native_reader.text import Said
from rmqstore.chinese.findings import CODES, SEVERITIES
from rmqstore.chinese.found import CHINESE


class InWords(NamedTuple):
    """A finding in one language."""

    severity: str
    found: tuple[str, ...]
    """What was found at the first place. In Chinese, after the meaning of the code, which is an English word."""
    advice: str


def in_words(row: Mapping[str, Any], language: str, spell: Callable[[str], str] = str) -> InWords:
    """A row of the table `findings`. `spell`: how option names are written."""
    severity, code, message = (str(row[name]) for name in ("severity", "code", "message"))
    if language != "zh":
        return InWords(severity, (message,), Verification.advice(code, spell))
    meaning, advice = CODES[code]
    return InWords(SEVERITIES[severity], (meaning, Said.from_json(row["details"]).text(CHINESE)), spelled(advice, spell))
