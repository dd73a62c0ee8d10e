"""`rmqstore verify`: the cross-check of a store, as text for people and as findings for programs."""

from __future__ import annotations

import sys
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

The exit code is 1 if there is an error or a warning. Notes do not count: they say what is not in the store or was not checked.
docs/verify.md lists all codes.
"""
EPILOG = """\b
Examples:
  rmqstore verify /data/store --jobs 4
  rmqstore verify /data/store --rate 100MB/s --json > findings.jsonl
"""
_COLORS = {"error": "red", "warning": "yellow"}


@click.command(help=HELP, epilog=EPILOG)
@takes(PATHS, AS_JSON, READING, PLACES)
def verify(asked: Asked) -> int:
    store, output = asked.open(), Output(json=asked.as_json, zone=asked.zone)
    with warnings():
        findings = store.verify(**asked.values())
        output.rows(findings.schema.names, ())  # in a pipe, the names of the columns
        # Printed as they come: a broken store can have a finding for each of a million files.
        for batch in findings.to_batches(asked.jobs, progress=bar()):
            clear()
            rows = batch.to_pylist()
            if output.is_terminal:
                for row in rows:
                    _print(output, row, findings)
                sys.stdout.flush()
            else:
                output.rows(findings.schema.names, rows)
        clear()
    note(findings.summary)
    return CLEAN if findings.is_clean else FOUND


def _print(output: Output, row: dict[str, Any], findings: Verification) -> None:
    """A finding for people: what it is and where, what was found, and what to do."""
    queue = "" if row["topic"] is None else safe(row["topic"]) + ("" if row["queue_id"] is None else f"/{row['queue_id']}")
    place = safe(row["file"]) + ("" if row["offset"] is None else f" at offset {row['offset']:,}")
    heading = "  ".join(part for part in (f"{row['severity']:<7}", row["code"], queue, place) if part)
    output.line(output.styled(heading, fg=_COLORS.get(row["severity"]), bold=True))
    output.line(f"         {safe(row['message'])}")
    output.line(f"         → {safe(findings.advice(row['code'], spelled))}")
