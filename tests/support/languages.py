"""Whether a text for a reader of Chinese has an English sentence."""

from __future__ import annotations

import re

HAN = "[\u4e00-\u9fff]"
WORDS = re.compile(r"(?<![\w/.'=-])[A-Za-z]{2,}(?: [A-Za-z]{2,}){2,}(?![\w/=])")
"""Three words of Latin letters: a sentence, not a name."""
NAMES = re.compile(r"rmqstore [a-z]+ [^：，。；]*|--[\w-]+( [\w.:/-]+)?|`[^`]*`|/\S+|RocketMQ \S+|Controller|pip install \S+")


def in_english(text: str) -> list[str]:
    """The English sentences, without the names of commands, options and files."""
    lines = [line for line in text.splitlines() if re.search(HAN, line) or not re.search(r"   |\t|─", line)]
    return [line for line in lines if WORDS.search(NAMES.sub("…", line))]
