"""`rmqstore doctor`: what a store is, whether it is in use, and what is odd about it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, PATHS, PLACES, READING, RETENTION, Asked, spelled, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import Output
from rmqstore.cli.stderr import warnings
from rmqstore.text import as_json, plain, safe, time_text

if TYPE_CHECKING:
    from native_reader import Diagnosis, Store

HELP = """Look at a store without reading its log: which parts it has and where, which brokers may have written it, whether one is using it,
and what is odd. `rmqstore verify` checks every record.
"""
EPILOG = """\b
Examples:
  rmqstore doctor /data/store
  rmqstore doctor '/backup/*' --json
"""

_RESCUE = "rescue {} FOLDER"
_WARNING = "copy or rescue this store before a broker starts on it"
_NEXT = ("stat {} --by topic", "find {} --key KEY", "verify {}")


@click.command(help=HELP, epilog=EPILOG)
@takes(PATHS, RETENTION, AS_JSON, READING, PLACES)
def doctor(asked: Asked, *, file_reserved_time: int | None) -> int:
    output = Output(json=asked.as_json, zone=asked.zone)
    with warnings():
        store = asked.open()
    code = CLEAN
    for number, one in enumerate(store.one_by_one()):
        found, is_broken = _diagnosis(asked, one, file_reserved_time)
        if output.is_json:
            start = None if found.start is None else found.start.to_dict()
            output.line(as_json({**_for_json(found.facts, asked), "start": start, "findings": found.findings, "notes": found.notes}))
        else:
            if number:
                output.line("")
            for label, text in found.lines(lambda moment: time_text(moment, asked.zone)):
                _print(output, label, _in_words(text))
            if is_broken:
                _print(output, "warning", _WARNING)
            path = shlex.quote(asked.paths[0] if len(asked.paths) == len(store.stores) == 1 and asked.paths[0] else one.stores[0].uri)
            commands = (_RESCUE, *_NEXT) if found.findings or is_broken else _NEXT
            for label, command in zip(("try", *[""] * len(commands)), commands, strict=False):
                _print(output, label, f"rmqstore {command.format(path)}")
        code = FOUND if found.findings else code
    return code


def _diagnosis(asked: Asked, one: Store, reserved: int | None) -> tuple[Diagnosis, bool]:
    """The diagnosis of one store, with the engine's warnings first; and whether its log is damaged or incomplete."""
    losses: list[str] = []
    others: list[str] = []
    with warnings(lambda text, is_loss: (losses if is_loss else others).append(text)):
        found = one.diagnose(file_reserved_time=reserved, **asked.values())
    found.findings[:] = [*losses, *map(_in_words, found.findings)]
    found.notes[:] = [*others, *map(_in_words, found.notes)]
    return found, bool(losses) or found.has_gaps or (found.start is not None and found.start.loses)


def _in_words(text: str) -> str:
    """The text with options as they are written here."""
    from native_reader.errors import spelled as in_words

    return in_words(text, spelled)


def _print(output: Output, label: str, text: str) -> None:
    output.line(f"{output.styled(f'{label:<10}', bold=True)} {safe(text)}")


def _for_json(facts: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    """The facts with values as JSON has them."""
    return {name: _for_json(value, asked) if isinstance(value, dict) else plain(value, asked.zone) for name, value in facts.items()}
