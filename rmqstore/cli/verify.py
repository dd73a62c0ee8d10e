"""`rmqstore verify`: the cross-check of a store, as text for people and as findings for programs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, PATHS, PLACES, READING, Asked, spelled, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import Output
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.text import safe

if TYPE_CHECKING:
    from native_reader import Verification

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
@takes(PATHS, AS_JSON, READING, PLACES)
def verify(asked: Asked, is_all: bool) -> int:
    output = Output(json=asked.as_json, zone=asked.zone)
    with warnings():
        store = asked.open()
        findings = store.verify(**asked.values())
        output.rows(findings.schema.names, ())  # in a pipe, the names of the columns
        codes = _Codes()
        try:
            for batch in findings.to_batches(asked.jobs, progress=bar()):
                rows = batch.to_pylist()
                if output.is_terminal and not is_all:
                    codes.add(rows)
                    continue
                # As they come: a broken store can have a finding for each of a million files.
                clear()
                if output.is_terminal:
                    _print_each(output, rows, findings)
                else:
                    output.rows(findings.schema.names, rows)
        finally:  # also what was found before an interrupt
            clear()
            codes.print(output, findings)
    note(findings.summary)
    return CLEAN if findings.is_clean else FOUND


@dataclass(slots=True)
class _Code:
    """The findings of one code: the first ones, how many there are, and in how many places."""

    first: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0
    places: int = 0


class _Codes:
    """The findings by code. Memory does not depend on how many there are."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], _Code] = {}

    def add(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            code = self._codes.setdefault((row["severity"], row["code"]), _Code())
            code.count += 1
            code.places += row["count"]
            if len(code.first) < _FIRST:
                code.first.append(row)

    def print(self, output: Output, findings: Verification) -> None:
        """A block for each code."""
        for (severity, name), code in sorted(self._codes.items(), key=lambda item: list(_COLORS).index(item[0][0])):
            if code.count == 1:
                _print_each(output, code.first, findings)
                continue
            places = "" if code.places == code.count else f" in {code.places:,} places"
            _print_heading(output, severity, name, f"{code.count:,} findings{places}")
            for row in code.first:
                output.line(f"{_MARGIN}{_place(row)}: {safe(row['message'])}")
            if left := code.count - len(code.first):
                output.line(f"{_MARGIN}{left:,} more; --all prints each")
            _print_advice(output, name, findings)
        sys.stdout.flush()


def _print_each(output: Output, rows: list[dict[str, Any]], findings: Verification) -> None:
    """Findings for people: what each is and where, what was found, and what to do."""
    for row in rows:
        _print_heading(output, row["severity"], row["code"], _place(row))
        output.line(f"{_MARGIN}{safe(row['message'])}")
        _print_advice(output, row["code"], findings)
    sys.stdout.flush()


def _print_heading(output: Output, severity: str, code: str, more: str) -> None:
    output.line(output.styled(f"{severity:<7}  {code}  {more}", fg=_COLORS[severity], bold=True))


def _print_advice(output: Output, code: str, findings: Verification) -> None:
    output.line(f"{_MARGIN}→ {safe(findings.advice(code, spelled))}")


def _place(row: dict[str, Any]) -> str:
    queue = "" if row["topic"] is None else safe(row["topic"]) + ("" if row["queue_id"] is None else f"/{row['queue_id']}")
    place = safe(row["file"]) + ("" if row["offset"] is None else f" at offset {row['offset']:,}")
    return f"{queue}  {place}" if queue else place
