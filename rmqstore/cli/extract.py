"""`rmqstore extract`: a new store with the messages of some topics, for a broker elsewhere."""

from __future__ import annotations

import click

from rmqstore.cli.asked import AS_JSON, FILTERS, LANGUAGE, PATHS, PLACES, READING, Asked, takes
from rmqstore.cli.repair import TIER, folder_of, planned_in, reading_of, show
from rmqstore.cli.spoken import in_words
from rmqstore.cli.stderr import clear, warnings

HELP = """Write a new store to NEW with the messages of some topics of STORE, for a broker elsewhere.

Messages keep their queue offsets, tags, keys and unique ids; consumers keep their offsets. Their places in the log change, and so
do the ids that brokers make of these (offsetMsgId). STORE is only read. Before it ends, the command checks the new store and compares
its messages with those of STORE. NEW/extract.md says what is different. The exit code is 1 if a message was lost.
"""
EPILOG = """\b
Examples:
  rmqstore extract /data/store /data/orders --topic orders
  rmqstore extract /data/store /data/sales --topic orders --topic payments --dry-run
"""


@click.command(help=HELP, epilog=EPILOG)
@takes(
    (*PATHS, click.argument("target", metavar="NEW", required=False, type=click.Path())),
    (FILTERS[0], click.option("--dry-run", is_flag=True, help="Only read STORE, and print the plan."), TIER),
    *(LANGUAGE, AS_JSON, READING, PLACES),
)
def extract(asked: Asked, target: str | None, dry_run: bool, lang: str, tier: str | None) -> int:
    target = folder_of(asked, target, "extract")
    values = asked.values()
    topics = values.pop("topic", None)
    if topics is None:
        raise click.UsageError(in_words("extract needs"), click.get_current_context())
    reading = reading_of(asked, values, lang)
    with warnings():
        done = asked.open().extract(target, topics, tier=tier, dry_run=dry_run, when_planned=planned_in(lang), language=lang, **reading)
        clear()
    return show(asked, done, lang, dry_run=dry_run)
