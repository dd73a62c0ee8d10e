"""`rmqstore doctor`: what a store is, whether it is in use, and what is odd about it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, LANGUAGE, PATHS, PLACES, READING, RETENTION, Asked, spelled, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import Output
from rmqstore.cli.spoken import in_words
from rmqstore.cli.stderr import bar, clear, warnings
from rmqstore.text import as_json, for_people, moment_of, padded, plain

if TYPE_CHECKING:
    from native_reader import Diagnosis, Store, Verification

HELP = """Look at a store without reading its log: which parts it has and where, which brokers may have written it, whether one is using it,
and what is odd. --full reads the whole log too, and counts in which state each message is.
"""
EPILOG = """\b
Examples:
  rmqstore doctor /data/store
  rmqstore doctor '/backup/*' --json
  rmqstore doctor /data/store --full --jobs 4
"""

_RESCUE = "rescue {} FOLDER"
_REPAIR = "repair {} NEW --dry-run"
_COLLECTED_AFTER = 200_000
_OF_CHECK = ("tiered", "tiered_store_file_path")
"""Options of a check of the whole store."""
_NEXT = ("verify {}", "stat {} --by topic", "find {} --key KEY")


@click.command(help=HELP, epilog=EPILOG)
@click.option("--full", is_flag=True, help="Read the whole log, and count in which state each message is.")
@click.option("--for", "for_version", metavar="VERSION", help="The version of the broker that is to be started, such as 5.3.2.")
@takes(PATHS, LANGUAGE, RETENTION, AS_JSON, READING, PLACES)
def doctor(asked: Asked, *, lang: str, file_reserved_time: int | None, full: bool, for_version: str | None) -> int:
    from native_reader.text import quoted, with_paths

    if not full and (names := [name for name in asked.options if name in _OF_CHECK]):
        raise click.UsageError(in_words("only with full", name=names[0]), click.get_current_context())
    output = Output(json=asked.as_json, zone=asked.zone)
    with warnings():
        store = asked.open()
    code, language = CLEAN, "en" if asked.as_json else lang
    say = partial(_said, language)
    for number, one in enumerate(store.one_by_one()):
        found, is_broken = _diagnosis(asked, one, {"file_reserved_time": file_reserved_time, "for_version": for_version}, language)
        check = _checked(asked, one, found, file_reserved_time) if full else None
        if output.is_json:
            start = None if found.start is None else found.start.to_dict()
            odd = {"findings": list(map(_in_words, found.findings)), "notes": list(map(_in_words, found.notes))}
            states = {} if check is None else {"states": dict(check.account.messages), "checked": check.summary}
            output.line(as_json({**_for_json(found.facts, asked), "start": start, **odd, **states}))
        else:
            if number:
                output.line("")
            for label, text in _lines(found, check, asked, language):
                _print(output, label, _in_words(text))
            if is_broken:
                _print(output, say("label warning"), say("save first"))
            given = asked.paths[0] if len(asked.paths) == len(store.stores) == 1 else ""
            path = quoted(given or with_paths(one.stores[0].uri))
            refused = one.repair_refusal(language, found) if is_broken else None
            if refused is not None:
                _print(output, say("label repair"), _in_words(refused))
            repair = [_REPAIR] if is_broken and refused is None else []
            commands = (_RESCUE, *repair, *_NEXT) if found.losses or is_broken else _NEXT
            for label, command in zip((say("label try"), *[""] * len(commands)), commands, strict=False):
                _print(output, label, f"rmqstore {command.format(path)}")
        is_well = found.start is None or found.start.is_all_well
        is_well &= check is None or check.is_clean
        code = FOUND if found.losses or is_broken or not is_well else code
    return code


def _lines(found: Diagnosis, check: Verification | None, asked: Asked, language: str) -> Iterator[tuple[str, str]]:
    """Which store it is, the answer about a start, what a check of the whole store adds, what may be a loss, and then the facts."""
    from native_reader.start import lines_of

    say = partial(_said, language)
    lines = list(found.lines(lambda moment: moment_of(moment, asked.zone), language))
    named = int("store" in found.facts)
    yield from lines[:named]
    for place, text in enumerate(() if found.start is None else lines_of(found.start, language)):
        yield "" if place else say("label start"), text
    if check is not None:
        yield say("label messages"), check.account.said.text(language)
        yield say("label check"), check.found.text(language)
    yield from lines[named:]


def _checked(asked: Asked, one: Store, found: Diagnosis, file_reserved_time: int | None) -> Verification:
    """The check of the whole store. What it finds goes into the answer about a start."""
    check = one.verify(file_reserved_time=file_reserved_time, **asked.values())
    check.to_table(asked.jobs, bar())
    clear()
    found.add_check(check)
    return check


def _diagnosis(asked: Asked, one: Store, of_broker: Mapping[str, Any], language: str) -> tuple[Diagnosis, bool]:
    """The diagnosis of one store, with the engine's warnings first; and whether its log is damaged or incomplete."""
    from native_reader.sentences import verbatim

    losses: list[str] = []
    others: list[str] = []
    with warnings(lambda text, is_loss: (losses if is_loss else others).append(text), language):
        with _rarely_collected():
            values = {name: value for name, value in asked.values().items() if name not in _OF_CHECK}
            found = one.diagnose(**of_broker, progress=bar("queues", "segments"), **values)
        clear()
    known = {said.text(language) for said in found.losses}
    found.losses[:0] = [verbatim(text) for text in losses if text not in known]
    found.harmless[:0] = [verbatim(text) for text in others]
    return found, bool(losses) or found.has_gaps or (found.start is not None and found.start.loses)


@contextmanager
def _rarely_collected() -> Iterator[None]:
    """Very many queues are millions of objects without cycles: to search them again and again takes a quarter of the time."""
    before = gc.get_threshold()
    gc.set_threshold(_COLLECTED_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _said(language: str, kind: str) -> str:
    """What the command adds to a diagnosis."""
    from native_reader.sentences import Said

    return Said(kind).text(language)


def _in_words(text: str) -> str:
    """The text with options as they are written here."""
    from native_reader.errors import spelled as in_words

    return in_words(text, spelled)


def _print(output: Output, label: str, text: str) -> None:
    output.line(f"{output.styled(padded(label, 10), bold=True)} {for_people(text)}")


def _for_json(facts: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    """The facts with values as JSON has them."""
    return {name: _for_json(value, asked) if isinstance(value, dict) else plain(value, asked.zone) for name, value in facts.items()}
