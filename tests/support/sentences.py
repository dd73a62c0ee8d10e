"""What a sentence of a table names, so that tables of two languages can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

_CHINESE = re.compile("[\u4e00-\u9fff]")


def names_in(sentence: str) -> set[str]:
    """The names of its values. Options are marked in it, and are values, too."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name} | set(re.findall("\x0e.*?\x0f", sentence))


def names_by_kind(sentences: Mapping[str, str]) -> dict[str, set[str]]:
    """The same for each sentence of a table."""
    return {kind: names_in(sentence) for kind, sentence in sentences.items()}


def not_translated(sentences: Mapping[str, str]) -> set[str]:
    """The kinds of sentences with words, but none of them in Chinese."""
    return {kind for kind, text in sentences.items() if re.sub(r"{.*?}|\W", "", text) and not _CHINESE.search(text)}
