"""Files that a user gives to a command: their text, and a list of keys."""

from __future__ import annotations

from pathlib import Path

import click

from rmqstore.cli.spoken import in_words, spoken

_MOST_KEYS = 1_000_000


def fault_in(path: str, what: str, option: str) -> click.BadParameter:
    """The error about a file that the user gave."""
    return click.BadParameter(in_words("at", place=path, what=what), click.get_current_context(), param_hint=option)


def text_of(path: str, option: str) -> str:
    """What the file says."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        from native_reader.sentences import words_of

        why = words_of(error).text(spoken()) if isinstance(error, OSError) else in_words("not utf-8")
        raise fault_in(path, why, option) from error


def keys_in(path: str) -> list[str]:
    """The keys in the file of `--keys`, one in each line. A key may have other characters that end a line for Python."""
    keys = list(dict.fromkeys(filter(None, map(str.strip, text_of(path, "--keys").split("\n")))))
    if not keys or len(keys) > _MOST_KEYS:
        what = in_words("many keys", count=len(keys), most=_MOST_KEYS) if keys else in_words("no keys")
        raise fault_in(path, what, "--keys")
    return keys
