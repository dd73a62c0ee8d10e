"""The page on PyPI: README.md with links and pictures that lead to this version's files. All else is in setup.cfg."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

FILES = "https://github.com/rmqstore/rmqstore-spark/blob/v{version}/"
PICTURES = "https://raw.githubusercontent.com/rmqstore/rmqstore-spark/v{version}/"
# Of the three, code is only found so that a link in it is left alone. A link's text may have code in it.
_PARTS = re.compile(
    r"^```.*?^```$|(?P<text>!?\[(?:`[^`\n]+`|[^\]`])*\])\((?P<target>(?![a-z]+:)[^)\s]+)\)|`[^`\n]+`", re.MULTILINE | re.DOTALL
)


def page(readme: str, version: str) -> str:
    """PyPI shows one page, without the files beside it and without the names of headings."""

    def absolute(found: re.Match[str]) -> str:
        text, target = found["text"], found["target"]
        if target is None:
            return found[0]
        base = (PICTURES if text.startswith("!") else FILES).format(version=version)
        return f"{text}({base}{'README.md' if target.startswith('#') else ''}{target})"

    return _PARTS.sub(absolute, readme)


if __name__ == "__main__":
    here = Path(__file__).parent
    settings = ConfigParser()
    settings.read(here / "setup.cfg", encoding="utf-8")
    setup(long_description=page((here / "README.md").read_text(encoding="utf-8"), settings["metadata"]["version"]))
