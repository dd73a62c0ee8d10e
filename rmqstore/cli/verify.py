"""`rmqstore verify`: the cross-check of a store, as text for people and as findings for programs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import click

from rmqstore.cli.asked import AS_JSON, LANGUAGE, PATHS, PLACES, READING, WRITTEN_SUMMARY, Asked, spelled, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import Output
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.cli.summarize import complete
from rmqstore.text import for_people, padded, safe

HELP = """Check that the log, consume queues, index, checkpoint and configuration of a store agree. It reads the whole log once.

On a terminal, the findings of one code are one block: errors first, then warnings, then notes. The exit code is 1 if there is an
error or a warning. Notes do not count: they say what is not in the store or was not checked. docs/verify.md lists all codes.
"""
EPILOG = """\b
Examples:
  rmqstore verify /data/store --jobs 4
  rmqstore verify /data/store --all | less
  rmqstore verify /data/store --rate 100MB/s --json > findings.jsonl
"""
_COLORS = {"error": "red", "warning": "yellow", "note": None}
"""By severity, the most severe first."""
_FIRST = 3
"""Findings of a code that are printed, if there are more and not all are wanted."""
_MARGIN = " " * 9


@click.command(help=HELP, epilog=EPILOG)
@click.option("--all", "is_all", is_flag=True, help="On a terminal, print each finding, as it is found.")
@takes(PATHS, LANGUAGE, AS_JSON, WRITTEN_SUMMARY, READING, PLACES)
def verify(asked: Asked, lang: str, is_all: bool) -> int:
    output = Output(json=asked.as_json, zone=asked.zone)
    with warnings():
        store = asked.open()
        complete(asked, store)
        findings = store.verify(**{name: value for name, value in asked.values().items() if name != "summary"})
        output.rows(findings.schema.names, ())  # in a pipe, the names of the columns
        printer = _Printer(output, lang)
        try:
            for batch in findings.to_batches(asked.jobs, progress=bar(language=lang)):
                rows = batch.to_pylist()
                if output.is_terminal and not is_all:
                    printer.keep(rows)
                    continue
                # As they come: a broken store can have a finding for each of a million files.
                clear()
                if output.is_terminal:
                    printer.print_each(rows)
                else:
                    output.rows(findings.schema.names, rows)
        finally:  # also what was found before an interrupt
            clear()
            printer.print_kept()
    note(findings.said.text(lang))
    return CLEAN if findings.is_clean else FOUND


@dataclass(slots=True)
class _Code:
    """The findings of one code: the first ones, how many there are, and in how many places."""

    first: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0
    places: int = 0


class _Printer:
    """Findings for people, in one language. Memory does not depend on how many there are."""

    def __init__(self, output: Output, language: str) -> None:
        self._output, self._language = output, language
        self._codes: dict[tuple[str, str], _Code] = {}

    def keep(self, rows: list[dict[str, Any]]) -> None:
        """Findings that are printed by code, at the end."""
        for row in rows:
            code = self._codes.setdefault((row["severity"], row["code"]), _Code())
            code.count += 1
            code.places += row["count"]
            if len(code.first) < _FIRST:
                code.first.append(row)

    def print_kept(self) -> None:
        """A block for each code, the most severe first."""
        for _, code in sorted(self._codes.items(), key=lambda item: list(_COLORS).index(item[0][0])):
            if code.count == 1:
                self.print_each(code.first)
            else:
                self._print_code(code)
        sys.stdout.flush()

    def print_each(self, rows: list[dict[str, Any]]) -> None:
        """What each is and where, what was found, and what to do."""
        for row in rows:
            severity, found, advice = self._in_words(row)
            self._print_heading(row, severity, self._place(row))
            for line in (*found, f"→ {advice}"):
                self._line(for_people(line))
        sys.stdout.flush()

    def _print_code(self, code: _Code) -> None:
        counted = self._say("findings of code", findings=code.count)
        if code.places != code.count:
            counted = self._say("findings in places", findings=code.count, places=code.places)
        severity, (*meaning, _), advice = self._in_words(code.first[0])
        self._print_heading(code.first[0], severity, counted)
        for line in meaning:
            self._line(for_people(line))
        for row in code.first:
            *_, found = self._in_words(row)[1]
            self._line(self._say("at", place=self._place(row), what=for_people(found)))
        if left := code.count - len(code.first):
            self._line(self._say("more of code", findings=left))
        self._line(f"→ {for_people(advice)}")

    def _in_words(self, row: dict[str, Any]) -> tuple[str, tuple[str, ...], str]:
        from rmqstore.results import in_words

        severity, found, advice = in_words(row, self._language, spelled)
        return severity, tuple(found), advice

    def _print_heading(self, row: dict[str, Any], severity: str, more: str) -> None:
        heading = f"{padded(severity, 7)}  {row['code']}  {more}"
        self._output.line(self._output.styled(heading, fg=_COLORS[row["severity"]], bold=True))

    def _place(self, row: dict[str, Any]) -> str:
        queue = "" if row["topic"] is None else safe(row["topic"]) + ("" if row["queue_id"] is None else f"/{row['queue_id']}")
        offset = "" if row["offset"] is None else self._say("at offset", offset=row["offset"])
        place = f"{for_people(row['file'])} {offset}".rstrip()
        return f"{queue}  {place}" if queue else place

    def _line(self, text: str) -> None:
        self._output.line(f"{_MARGIN}{text}")

    def _say(self, kind: str, **values: int | str) -> str:
        from native_reader.sentences import say

        return say(kind, **values).text(self._language)
