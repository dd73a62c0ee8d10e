"""`rmqstore summarize`: a summary of a store, for those who ask more than once.

Commands with `--summary DIR` that read everything anyway first write the parts that it lacks.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rmqstore.cli.asked import AS_JSON, PATHS, PLACES, READING, Asked, takes
from rmqstore.cli.program import CLEAN
from rmqstore.cli.repair import reading_of
from rmqstore.cli.spoken import in_words, spoken
from rmqstore.cli.stderr import bar, clear, note
from rmqstore.text import as_json

if TYPE_CHECKING:
    from native_reader import Store

HELP = """Write a summary of STORE to DIR: where each full segment has the records of each topic, queue and key.

With --summary DIR, other commands then read only the records that they want. A segment that has a part is not read again, so run
it from time to time. STORE is only read, and DIR must be outside of it.
"""
EPILOG = """\b
Examples:
  rmqstore summarize /data/store --to /data/summary
  rmqstore find /data/store --key ORDER-1 --summary /data/summary
"""

_NO_CONDITIONS = {"summary", "time_zone", "max_read_rate", "mode", "fail_on_data_loss", "columns"}


@click.command(help=HELP, epilog=EPILOG)
@takes(
    PATHS,
    (click.option("--to", "folder", metavar="DIR", required=True, type=click.Path(), help="The folder of the summary."),),
    *(AS_JSON, READING, PLACES),
)
def summarize(asked: Asked, folder: str) -> int:
    reading = reading_of(asked, asked.values())
    if reading.pop("jobs") > 1:
        raise click.UsageError(in_words("one job"), click.get_current_context())
    done = asked.open().summarize(folder, **reading)
    clear()
    click.echo(as_json(asdict(done)) if asked.as_json else "\n".join(done.lines(spoken())))
    return CLEAN


def has_conditions(asked: Asked) -> bool:
    """Whether the user asked for some messages only."""
    return not asked.options.keys() <= _NO_CONDITIONS


def complete(asked: Asked, store: Store) -> None:
    """Write the parts that the summary lacks, if it is in a local folder. Says what prevents it."""
    from native_reader import ExportError
    from native_reader.sentences import say

    folder = asked.options.get("summary")
    if not isinstance(folder, str) or ("://" in folder and not folder.startswith("file://")):
        return
    for one in store.one_by_one():
        try:
            done = one.summarize(folder, progress=bar("writing the summary"), max_read_rate=asked.values().get("max_read_rate"))
        except ExportError as error:
            note(say("warning", what=say("summary incomplete", why=str(error))))
            return
        clear()
        if done.written:
            note(say("summary", what=next(done.said())))
