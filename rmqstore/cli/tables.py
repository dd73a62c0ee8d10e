"""`rmqstore tables`: the tables of a store other than its messages."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from rmqstore.cli.asked import AS_JSON, COLUMNS, PLACES, READING, WHERE, Asked, Number, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import Output
from rmqstore.cli.spoken import in_words, listed, spoken
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.text import LANGUAGES, for_people

if TYPE_CHECKING:
    import pyarrow as pa
    from click.shell_completion import CompletionItem

HELP = """Print a table. Without a STORE, list its columns; without a NAME too, list the tables.

docs/tables.md describes them.
"""
EPILOG = """\b
Examples:
  rmqstore tables
  rmqstore tables queues
  rmqstore tables /data/store damage
  rmqstore tables /data/store queues --where "topic = 'orders' AND gaps > 0" --columns queue_id,gaps
  rmqstore tables /data/store consumer_offsets --json
"""


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from native_reader.api import TABLE_NAMES

    names = [CompletionItem(name) for name in TABLE_NAMES if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]


# The shell does not know whether a word is a store or the name at the end.
_ARGUMENTS = (
    click.argument("paths", metavar="STORE...", nargs=-1, type=click.Path(), shell_complete=_complete),
    click.argument("name", required=False, shell_complete=_complete),
)

_STORE, _FILE = "store", "file"
"""Columns that people see once above the rows, and not on a narrow terminal: in most tables it only says where a row was read."""
_LESS = {"index_files": (), "consumer_offsets": (_FILE, "lite_topic", "parent_topic", "tiered", "min")}
"""By table: what a narrow terminal does not show, the first one first, if not just the file."""


@click.command(help=HELP, epilog=EPILOG)
@click.option("--limit", "-n", type=Number(0), metavar="N", help="Print at most this many rows.")
@takes(_ARGUMENTS, WHERE, COLUMNS, AS_JSON, READING, PLACES)
def tables(asked: Asked, name: str | None, limit: int | None) -> int:
    output = Output(json=asked.as_json, zone=asked.zone)
    if not asked.paths and not asked.places:
        _describe(output, name)
        return CLEAN
    if name == "messages":
        raise click.UsageError(in_words("use cat"))
    with warnings() as warned:
        store = asked.open()
        table_name = _known(name)
        table = store.table(table_name, **asked.values())
        batches = table.to_batches(asked.jobs, progress=bar())
        hidden: tuple[str, ...] = ()
        if limit is not None:
            batches = _limited(batches, limit)
        if output.is_terminal and len(store.stores) == 1 and "columns" not in asked.options and _STORE in table.schema.names:
            batches, hidden = _below(output, f"{_STORE}: {for_people(store.stores[0].uri)}", batches), (_STORE,)
        count = output.batches(table.schema, batches, hidden, _LESS.get(table_name, (_FILE,)))
        clear()
        if count == 0 and not asked.as_json:
            from native_reader.sentences import Said

            note(Said("no rows"))
    return FOUND if warned.has_loss or (name == "damage" and count) else CLEAN


def _known(name: str | None) -> str:
    """The name of a table. A single argument is one, so if the name was forgotten, it is the store."""
    from native_reader.api import TABLE_NAMES
    from native_reader.errors import nearest

    known = listed(TABLE_NAMES)
    if name is None:
        raise click.UsageError(in_words("no table named", tables=known))
    if name in TABLE_NAMES:
        return name
    if "/" in name or os.path.exists(name):
        raise click.UsageError(in_words("no table after store", store=shlex.quote(name), tables=known))
    near = nearest(name, TABLE_NAMES)
    wrong = {"name": repr(name), "tables": known}
    raise click.UsageError(in_words("no such table", **wrong) if near is None else in_words("no such table near", **wrong, near=near))


def _describe(output: Output, name: str | None) -> None:
    """Print the tables, or the columns of one."""
    from native_reader.api import TABLE_NAMES, columns_of

    if name is None:
        output.rows(("table", "columns"), ({"table": each, "columns": ", ".join(columns_of(each))} for each in TABLE_NAMES))
        return
    rows = (
        {"column": each, "type": str(spec.type), "meaning": _meaning(spec.meaning, output)}
        for each, spec in columns_of(_known(name)).items()
    )
    output.rows(("column", "type", "meaning"), rows)


def _meaning(english: str, output: Output) -> str:
    """In the language of people. Programs get the English one."""
    if spoken() == LANGUAGES[0] or not output.is_terminal:
        return english
    from native_reader.sentences.columns import MEANINGS

    return MEANINGS[english]


def _below(output: Output, line: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, with a line above the first rows."""
    for batch in batches:
        if len(batch) and line:
            clear()
            output.line(line)
            line = ""
        yield batch


def _limited(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, limit)
        limit -= min(limit, len(batch))
        if not limit:
            return
