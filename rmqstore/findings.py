"""A finding of the check as people read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from native_reader import Verification
from native_reader.sentences import ENGLISH, Said


class InWords(NamedTuple):
    """A finding in one language."""

    severity: str
    found: tuple[str, ...]
    """What was found at the first place. In Chinese, after the meaning of the code, which is an English word."""
    advice: str


def in_words(row: Mapping[str, Any], language: str, spell: Callable[[str], str] = str) -> InWords:
    """A row of the table `findings`. `spell`: how option names are written."""
    code, found = row["code"], Said.from_json(row["details"]).text(language)
    meaning = () if language == ENGLISH else (Said(f"code {code}").text(language),)
    severity = Said(f"severity {row['severity']}").text(language)
    return InWords(severity, (*meaning, found), Verification.advice(code, spell, language=language))
