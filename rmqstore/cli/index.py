"""`rmqstore index`: a summary of a store, for those who ask more than once."""

from __future__ import annotations

from dataclasses import asdict

import click

from rmqstore.cli.asked import AS_JSON, PATHS, PLACES, READING, Asked, takes
from rmqstore.cli.program import CLEAN
from rmqstore.cli.repair import reading_of
from rmqstore.cli.stderr import clear
from rmqstore.text import as_json

HELP = """Write a summary of STORE to DIR: where each full segment has the records of each topic, queue and key.

With --summary DIR, other commands then read only the records that they want. A segment that has a part is not read again, so run
it from time to time. STORE is only read, and DIR must be outside of it.
"""
EPILOG = """\b
Examples:
  rmqstore index /data/store --to /data/summary
  rmqstore find /data/store --key ORDER-1 --summary /data/summary
"""


@click.command(help=HELP, epilog=EPILOG)
@takes(
    PATHS,
    (click.option("--to", "folder", metavar="DIR", required=True, type=click.Path(), help="The folder of the summary."),),
    *(AS_JSON, READING, PLACES),
)
def index(asked: Asked, folder: str) -> int:
    reading = reading_of(asked, asked.values(), "A summary")
    if reading.pop("jobs") > 1:
        raise click.UsageError("A summary is written by one job: omit --jobs.", click.get_current_context())
    done = asked.open().index(folder, **reading)
    clear()
    click.echo(as_json(asdict(done)) if asked.as_json else "\n".join(done.lines()))
    return CLEAN
