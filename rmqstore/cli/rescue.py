"""`rmqstore rescue`: everything that can be saved of a store, and a page about it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rmqstore.cli.asked import AS_JSON, LANGUAGE, PATHS, PLACES, READING, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.spoken import in_words
from rmqstore.cli.stderr import bar, clear, note, note_room, warnings
from rmqstore.text import as_json

if TYPE_CHECKING:
    from native_reader import Rescued

HELP = """Save what a store holds: write all readable messages to FOLDER, check the rest, and describe both in FOLDER/rescue.html.

The page, also as rescue.md, says what was saved and what was lost, by topic and queue. Run it before a broker starts on the
store: a broker deletes what follows the first damage. You can stop it at any time; the same command then continues. The exit
code is 1 if anything was lost or is wrong.
"""
EPILOG = """\b
Examples:
  rmqstore rescue /data/store /backup/rescued --jobs 4
  rmqstore rescue /data/store /backup/rescued --rate 100MB/s
"""


@click.command(help=HELP, epilog=EPILOG)
@takes(
    (*PATHS, click.argument("target", metavar="FOLDER", required=False, type=click.Path())),
    (click.option("--output", "-o", metavar="FOLDER", type=click.Path(), help="The folder, if it is not the last argument."),),
    *(LANGUAGE, AS_JSON, READING, PLACES),
)
def rescue(asked: Asked, target: str | None, output: str | None, lang: str) -> int:
    from native_reader.sentences import Said
    from rmqstore.report.rescue_page import rescue_page
    from rmqstore.results import said_of_rescue

    asked, target = _to_folder(asked, target, output)
    values = asked.values()
    rate = values.pop("max_read_rate", None)
    if values:
        raise click.UsageError(in_words("no such options", name=next(iter(values))))
    with warnings():
        store = asked.open()
    is_again = (Path(target) / "rescue.md").exists()  # it is written last
    if not is_again:
        note_room(store, target, "little room", lang)
    with warnings() as warned:
        how = {"jobs": asked.jobs, "progress": bar("saving", "checking", language=lang), "max_read_rate": rate}
        done = store.rescue(target, **how, language=lang, html=lambda page: [rescue_page(page, lang)])
        clear()
    if asked.as_json:
        click.echo(as_json(_counts(done)))
    if is_again:
        note(Said("rescued before").text(lang))
    for each in said_of_rescue(done):
        note(each.text(lang))
    return CLEAN if done.is_whole and not warned.has_loss else FOUND


def _to_folder(asked: Asked, target: str | None, output: str | None) -> tuple[Asked, str]:
    """What to rescue, and to which folder. The last argument is the folder only without --output."""
    if output is not None:
        return (asked if target is None else replace(asked, paths=(*asked.paths, target))), output
    if target is None or not (asked.paths or asked.places):
        store = "STORE" if target is None else shlex.quote(target)
        text = in_words("no folder of rescue", store=store)
        raise click.UsageError(text, click.get_current_context())
    return asked, target


def _counts(done: Rescued) -> dict[str, object]:
    return {
        "messages": done.exported.rows,
        "doubtful": 0 if done.doubtful is None else done.doubtful.rows,
        "tiered": 0 if done.tiered is None else done.tiered.rows,
        "files": len(done.exported.files),
        "damaged_ranges": len(done.exported.report.damage),
        "missing_ranges": len(done.exported.missing),
        "states": None if done.account is None else dict(done.account.messages),
        "findings": done.problems,
        "page": done.page,
    }
