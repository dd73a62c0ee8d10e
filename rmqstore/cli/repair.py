"""`rmqstore repair`: a new store on which a broker runs, with every message that survived."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, PATHS, PLACES, READING, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.text import as_json

if TYPE_CHECKING:
    from native_reader import Repaired

HELP = """Write a new store to NEW on which a broker runs, with every message of STORE that survived.

Messages keep their places, queue offsets and ids; consumers keep their offsets. STORE is only read. Before it ends, the command
checks the new store and compares its messages with those of STORE. NEW/repair.md says what was lost and what to do before clients
are let in. The exit code is 1 if a message was lost.
"""
EPILOG = """\b
Examples:
  rmqstore repair /data/store /data/repaired --dry-run
  rmqstore repair /data/store /data/repaired --jobs 4
"""

CHOICES = (
    click.option(
        "--crc",
        metavar="drop|fix",
        default="drop",
        help="A message whose body has a wrong checksum: drop it, or keep its changed body and fix the checksum.  [default: drop]",
    ),
    click.option("--keep-doubtful", is_flag=True, help="Keep messages whose tags and keys are lost."),
    click.option(
        "--holes",
        metavar="placeholders|repeat",
        default="placeholders",
        help="For consumers in the place of a lost message: a placeholder, or the next message again.  [default: placeholders]",
    ),
)


@click.command(help=HELP, epilog=EPILOG)
@takes(
    (*PATHS, click.argument("target", metavar="NEW", required=False, type=click.Path())),
    (click.option("--dry-run", is_flag=True, help="Only read STORE, and print the plan."), *CHOICES),
    *(AS_JSON, READING, PLACES),
)
def repair(asked: Asked, target: str | None, dry_run: bool, **choices: Any) -> int:
    target = folder_of(asked, target, "repair")
    reading = reading_of(asked, asked.values(), "A repair")
    with warnings():
        done = asked.open().repair(target, dry_run=dry_run, **choices, **reading)
        clear()
    return show(asked, done, dry_run=dry_run)


def folder_of(asked: Asked, target: str | None, command: str) -> str:
    """The folder for the new store. It is the last argument, so it is missing if there is only one."""
    if target is None or not (asked.paths or asked.places):
        store = "STORE" if target is None else shlex.quote(target)
        raise click.UsageError(f"The folder for the new store is missing: rmqstore {command} {store} NEW", click.get_current_context())
    return target


def reading_of(asked: Asked, values: dict[str, Any], what: str) -> dict[str, Any]:
    """How the store is read. `values`: the options that are not used yet."""
    rate = values.pop("max_read_rate", None)
    if values:
        raise click.UsageError(f"{what} takes no other options: --option {next(iter(values))}.")
    return {"jobs": asked.jobs, "progress": bar("reading", "checking"), "max_read_rate": rate}


def show(asked: Asked, done: Repaired, *, dry_run: bool) -> int:
    """Print what was done, and return the exit code."""
    if asked.as_json:
        click.echo(as_json(done.to_dict()))
    elif dry_run:
        click.echo("\n".join(done.lines()))
    _print_result(done)
    return CLEAN if done.is_whole else FOUND


def _print_result(done: Repaired) -> None:
    """Say in a few lines what was lost; the page has the details."""
    from native_reader.start import NO, lines_of
    from native_reader.text import counted

    plan = done.plan
    note(f"{counted(plan.messages, 'message')} {'survived' if plan.moved is None else 'copied'}")
    if plan.moved is None and (plan.start.loses or plan.start.outcome == NO):
        note(f"warning: may a broker be started on the damaged store? {next(lines_of(plan.start))}")
    if plan.corrected:
        note(f"warning: {counted(len(plan.corrected), 'message')} kept with a changed body and another checksum")
    if plan.doubtful and plan.choices.keep_doubtful:
        note(f"warning: {counted(len(plan.doubtful), 'message')} kept without tags and keys")
    if plan.lost_messages:
        note(f"warning: {counted(plan.lost_messages, 'message')} lost; a placeholder is in the place of each")
    if done.page is None:
        note("this is the plan: nothing was written")
    else:
        note(f"the new store is complete and was checked; see {done.page}")
