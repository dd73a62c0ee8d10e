"""`rmqstore repair`: a new store on which a broker runs, with every message that survived."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, LANGUAGE, PATHS, PLACES, READING, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.spoken import in_words
from rmqstore.cli.stderr import bar, clear, note, note_room, warnings
from rmqstore.text import as_json

if TYPE_CHECKING:
    from native_reader import Repaired

HELP = """Write a new store to NEW on which a broker runs, with every message of STORE that survived.

Messages keep their places, queue offsets and ids; consumers keep their offsets. STORE is only read. Before it ends, the command
checks the new store and compares its messages with those of STORE. NEW/repair.md says what was lost and what to do before you
reconnect clients. You can stop it at any time; the same command then continues. The exit code is 1 if a message was lost.
"""
EPILOG = """\b
Examples:
  rmqstore repair /data/store /data/repaired --dry-run
  rmqstore repair /data/store /data/repaired --jobs 4
  rmqstore repair /data/store /data/repaired --from /data/slave --from /backup/store
"""

CHOICES = (
    click.option(
        "--crc",
        metavar="drop|fix",
        default="drop",
        help="A message whose body has a wrong checksum: drop it, or keep its changed body and fix the checksum.  [default: drop]",
    ),
    click.option(
        "--keep-doubtful", is_flag=True, help="Keep messages whose tags or keys are lost or contradicted by their queue or the index."
    ),
    click.option("--single", is_flag=True, help="Also repair the store of a broker with a controller, for a master without any."),
)


TIER = click.option(
    "--tier",
    metavar="keep|log|leave",
    help="Tiered storage: copy its files as they are, put its messages into the new log, or leave it where it is.  [default: what loses "
    "nothing]",
)
"""What becomes of tiered storage."""


@click.command(help=HELP, epilog=EPILOG)
@takes(
    (*PATHS, click.argument("target", metavar="NEW", required=False, type=click.Path())),
    (
        click.option("--dry-run", is_flag=True, help="Only read STORE, and print the plan."),
        click.option(
            "--from",
            "others",
            metavar="OTHER",
            multiple=True,
            type=click.Path(),
            help="Take what STORE lacks from this store of the same log: a slave, a backup, an old master. May be given several times.",
        ),
        *CHOICES,
        click.option(
            "--link",
            is_flag=True,
            help="Make hard links to segments and queue files that nothing changes, not copies. NEW then shares these files with STORE.",
        ),
        click.option("--plain", is_flag=True, help="Of the store of a DLedger peer, make a plain one, for a broker without DLedger."),
        TIER,
    ),
    *(LANGUAGE, AS_JSON, READING, PLACES),
)
def repair(asked: Asked, target: str | None, dry_run: bool, lang: str, **choices: Any) -> int:
    target = folder_of(asked, target, "repair")
    reading = reading_of(asked, asked.values(), lang)
    with warnings():
        store = asked.open()
        if not (dry_run or choices["link"]):
            note_room(store, target, "little room for copies", lang)
        done = store.repair(target, dry_run=dry_run, when_planned=planned_in(lang), language=lang, **choices, **reading)
        clear()
    return show(asked, done, lang, dry_run=dry_run)


def folder_of(asked: Asked, target: str | None, command: str) -> str:
    """The folder for the new store. It is the last argument, so it is missing if there is only one."""
    if target is None or not (asked.paths or asked.places):
        store = "STORE" if target is None else shlex.quote(target)
        raise click.UsageError(in_words("no folder", command=command, store=store), click.get_current_context())
    return target


def reading_of(asked: Asked, values: dict[str, Any], language: str | None = None) -> dict[str, Any]:
    """How the store is read. `values`: the options that are not used yet."""
    rate = values.pop("max_read_rate", None)
    if values:
        raise click.UsageError(in_words("no such options", name=next(iter(values))))
    return {"jobs": asked.jobs, "progress": bar("reading", language=language), "max_read_rate": rate}


def planned_in(language: str) -> Callable[[Repaired], None]:
    """Says what a repair needs, before it writes."""
    from rmqstore.results import said_of_plan

    def say_needs(planned: Repaired) -> None:
        for each in said_of_plan(planned):
            note(each.text(language))

    return say_needs


def show(asked: Asked, done: Repaired, language: str, *, dry_run: bool) -> int:
    """Print what was done, and return the exit code."""
    from rmqstore.results import said_of_repair

    if asked.as_json:
        click.echo(as_json(done.to_dict()))
    elif dry_run:
        click.echo("\n".join(done.lines(language)))
    for each in said_of_repair(done):
        note(each.text(language))
    return CLEAN if done.is_whole else FOUND
