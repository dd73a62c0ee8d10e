"""The help in Chinese. click counts characters and breaks lines at spaces; here lines are measured in the columns of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from rmqstore.cli.help_texts import HELP_TEXTS
from rmqstore.text import width_of

_WIDE, _OPENING, _CLOSING = "\u2e80-\u9fff\uff00-\uffef", "（《", "，。：；！？、）》"
_UNBROKEN = r"\[默认：[^]]{1,12}]|'[^']{1,24}'"
_PIECE = re.compile(rf"( *)([{_OPENING}]*(?:{_UNBROKEN}|[^ {_WIDE}{_OPENING}{_CLOSING}]+|[{_WIDE}])[{_CLOSING}]*)")
"""What stays on one line: a character, a word, a short default or what is quoted, with the marks that must not be parted from it."""
_TERM = re.compile(r"( *(?:[^ ]+ {2,})?)(.*)")
"""A line of a list: what the text is about, and the text."""
_CONTINUED = re.compile(r"\n {3,}")
_AS_WRITTEN = "\b\n"
"""How click marks a paragraph whose lines stay as they are."""
_LEAST, _BETWEEN, _WIDEST_TERM = 20, 2, 30


class ChineseFormatter(click.HelpFormatter):
    """Writes the parts of a help that click hands over in English."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        usage = f"{HELP_TEXTS['Usage']}：{prog} "
        for english in ("[OPTIONS]", "COMMAND [ARGS]..."):
            args = args.replace(english, HELP_TEXTS[english])
        self._write_lines(args, usage, " " * width_of(usage))

    def write_heading(self, heading: str) -> None:
        self.write(f"{' ' * self.current_indent}{in_chinese(heading)}：\n")

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write_paragraph()
            if not paragraph.startswith(_AS_WRITTEN):
                self._write_lines(in_chinese(" ".join(paragraph.splitlines())), indent, indent)
                continue
            for line in _CONTINUED.sub(" ", paragraph.removeprefix(_AS_WRITTEN)).splitlines():
                self._write_term(f"{indent}{line}")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = _WIDEST_TERM, col_spacing: int = _BETWEEN) -> None:
        rows, indent = list(rows), " " * self.current_indent
        width = min(max(len(term) for term, _ in rows), col_max) + col_spacing
        for term, text in rows:
            beside = f"{indent}{term:{width}}"
            if len(term) > width - col_spacing:
                self.write(f"{indent}{term}\n")
                beside = indent + " " * width
            self._write_lines(_with_limits(text), beside, indent + " " * width)

    def _write_term(self, line: str) -> None:
        """A line of a list. One that is not in the book is a command, and stays as it is."""
        before, text = _TERM.fullmatch(line).groups()  # type: ignore[union-attr]
        if text in HELP_TEXTS:
            self._write_lines(HELP_TEXTS[text], before, " " * len(before))
        else:
            self.write(f"{line}\n")

    def _write_lines(self, text: str, first: str, others: str) -> None:
        self.write("".join(f"{line}\n" for line in wrapped(text, max(self.width, len(others) + _LEAST), first, others)))


def wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """The text in lines of that many columns. `first`, `others`: what these lines begin with."""
    lines, line, is_empty = list[str](), first, True
    for space, piece in _PIECE.findall(text):
        if not is_empty and width_of(line + space + piece) > width:
            lines.append(line)
            line, is_empty = others, True
        line += piece if is_empty else space + piece
        is_empty = False
    return [*lines, line]


def in_chinese(text: str) -> str:
    """The Chinese of an English text; the text itself, if the book does not have it."""
    return HELP_TEXTS.get(text, text)


def _with_limits(text: str) -> str:
    """The text of an option, after which click has written that it is required, or the least and the largest value."""
    if text in HELP_TEXTS:
        return HELP_TEXTS[text]
    own, gap, limits = text.rpartition("  [")
    return f"{in_chinese(own)}{gap[:2]}{in_chinese(gap[2:] + limits)}"
