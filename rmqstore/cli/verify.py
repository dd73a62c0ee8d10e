"""`rmqstore verify`: the cross-check of a store, as text for people and as findings for programs."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, PATHS, PLACES, READING, Asked, spelled, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import Output
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.text import safe

if TYPE_CHECKING:
    from native_reader import Store

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
    counts = Counter[str]()
    with warnings():
        findings = store.table("findings", **asked.values())
        output.rows(findings.schema.names, ())  # in a pipe, the names of the columns
        # Printed as they come: a broken store can have a finding for each of a million files.
        for batch in findings.to_batches(asked.jobs, progress=bar()):
            clear()
            rows = batch.to_pylist()
            counts.update(row["severity"] for row in rows)
            if output.is_terminal:
                for row in rows:
                    _print(output, row)
                sys.stdout.flush()
            else:
                output.rows(findings.schema.names, rows)
        clear()
    note(_summary(store, counts))
    return FOUND if counts["error"] or counts["warning"] else CLEAN


def _print(output: Output, row: dict[str, Any]) -> None:
    """A finding for people: what it is and where, what was found, and what to do."""
    queue = "" if row["topic"] is None else safe(row["topic"]) + ("" if row["queue_id"] is None else f"/{row['queue_id']}")
    place = safe(row["file"]) + ("" if row["offset"] is None else f" at offset {row['offset']:,}")
    heading = "  ".join(part for part in (f"{row['severity']:<7}", row["code"], queue, place) if part)
    output.line(output.styled(heading, fg=_COLORS.get(row["severity"]), bold=True))
    output.line(f"         {safe(row['message'])}")
    output.line(f"         → {safe(_advice(row['code']))}")


def _advice(code: str) -> str:
    """What to do, with options as they are written here."""
    from native_reader.errors import spelled as in_words
    from native_reader.verify.codes import CODES

    return in_words(CODES[code].advice, spelled)


def _summary(store: Store, counts: Counter[str]) -> str:
    from native_reader.text import counted, size_of

    segments = [segment for each in store.stores for segment in each.segments]
    if not segments:
        return "nothing to check: there are no segments"
    found = [counted(counts[name], name) for name in ("error", "warning", "note") if counts[name]]
    checked = f"{counted(len(segments), 'segment')}, {size_of(sum(each.size for each in segments))}"
    clean = "" if counts["error"] or counts["warning"] else "no errors, no warnings"
    return f"{', '.join(filter(None, [clean, *found]))} in {checked}"
