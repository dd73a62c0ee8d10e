"""`rmqstore explain`: the plan of a read."""

from __future__ import annotations

import sys

import click

from rmqstore.cli.asked import AS_JSON, COLUMNS, FILTERS, PATHS, PLACES, READING, STRICT, SUMMARY, WHERE, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.spoken import spoken
from rmqstore.cli.stderr import warnings
from rmqstore.text import as_json, for_people

HELP = """Show what a read of messages would look at, what it skips, and why. Nothing but the plan is read.

The options are those of `cat` and `find`.
"""
EPILOG = """\b
Examples:
  rmqstore explain /data/store --key ORDER-1
  rmqstore explain /data/store --topic orders --since '2026-01-31 12:00:00Z'
"""


@click.command(help=HELP, epilog=EPILOG)
@takes(PATHS, FILTERS, SUMMARY, WHERE, COLUMNS, AS_JSON, STRICT, READING, PLACES)
def explain(asked: Asked) -> int:
    with warnings() as warned:
        explanation = asked.open().messages(**asked.of_messages()).explain()
        if asked.as_json:
            sys.stdout.write(f"{as_json(explanation.to_dict())}\n")
        else:
            sys.stdout.writelines(f"{for_people(line)}\n" for line in explanation.lines(spoken()))
    return FOUND if warned.has_loss or explanation.plan.gaps else CLEAN
