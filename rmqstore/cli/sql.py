"""`rmqstore sql`: an SQL query of DuckDB over the tables of a store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rmqstore.cli import deleting_first, signals_held
from rmqstore.cli.asked import AS_JSON, PLACES, READING, STRICT, SUMMARY, WHERE, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.reading import note_gap, note_skipped
from rmqstore.cli.rows import Output
from rmqstore.cli.rows_file import is_text, write_rows
from rmqstore.cli.spoken import in_words
from rmqstore.cli.stderr import bar, clear, note, warnings

if TYPE_CHECKING:
    import pyarrow as pa

    from native_reader import Query

HELP = """Run an SQL query of DuckDB on messages and the other tables of a store: rmqstore tables lists them.

The query reads only the columns that it names. Its conditions show what need not be read of the log: topic, times, offsets, and keys
with list_contains(keys, 'ORDER-1'), which uses the index. Nothing is written to a store, and a query can read no other file.
messages has the columns of rmqstore cat --json, and every other column that the query names.

With -o, the rows go to a file, whose name ends in .parquet, .arrow, .jsonl, .json or .csv; .jsonl, .json and .csv also with .gz or .zst.
It needs DuckDB: pip install 'rmqstore-spark[sql]'.
"""
EPILOG = """\b
Examples:
  rmqstore sql /data/store "SELECT topic, count(*) AS messages FROM messages GROUP BY topic ORDER BY messages DESC"
  rmqstore sql /data/store "FROM messages WHERE list_contains(keys, 'ORDER-1')" --json
  rmqstore sql /data/store "SELECT * FROM queues WHERE gaps > 0"
  rmqstore sql /data/store "SELECT queue_offset, body_text FROM messages WHERE topic = 'orders' LIMIT 10"
  rmqstore sql /data/store "SELECT msg_id, body FROM messages WHERE kind = 'dlq'" -o dlq.parquet
"""
_ARGUMENTS = (
    click.argument("paths", metavar="STORE...", nargs=-1, type=click.Path()),
    click.argument("query", metavar="QUERY", required=False),
)
_ZONE = WHERE[1:]
_COMMENT = re.compile(r"--(?:\W|[^=\n]*\n)")
"""No option has a space, or a line end before its value."""


class SqlCommand(click.Command):
    """Takes a query that begins with a comment of SQL, which looks like an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"\n{each}" if _COMMENT.match(each) else each for each in args])


@click.command(cls=SqlCommand, help=HELP, epilog=EPILOG)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the rows to this file.")
@takes(_ARGUMENTS, SUMMARY, _ZONE, AS_JSON, STRICT, READING, PLACES)
def sql(asked: Asked, query: str | None, output: Path | None) -> int:
    if query is not None and not asked.paths and not asked.places:  # the store was taken for it
        raise click.UsageError(in_words("no query", store=query), click.get_current_context())
    asked.check_paths()
    assert query is not None
    from native_reader.sentences import Said, say

    is_plain = output is None or is_text(output)
    with deleting_first(), warnings() as warned:
        store = asked.open()
        options = asked.of_messages()
        zone = options.pop("time_zone", None)
        query_of = store.sql(query, time_zone=zone, plain=is_plain, jobs=asked.jobs, progress=bar(), **options)
        with signals_held(), suppress(ImportError):  # duckdb 2.0.1 aborts if interrupted there; the engine says if there is none
            import_module("duckdb")
        if output is not None:
            with query_of.batches() as (schema, batches):
                count = write_rows(output, schema, batches, store)
            clear()
            note(say("rows in file", rows=count, file=str(output)))
        else:
            printed = Output(json=asked.as_json, zone=asked.zone)
            with query_of.batches() as (schema, batches):
                count = printed.batches(schema, _shown(batches))
            clear()
            if not count and not asked.as_json:
                note(Said("no rows"))
    is_unknown = not count and warned.has_unknown
    return FOUND if _note_damage(query_of) or warned.has_loss or is_unknown else CLEAN


def _shown(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, without the bar on the terminal where they are printed."""
    for batch in batches:
        clear()
        yield batch


def _note_damage(query: Query) -> bool:
    """Say what was skipped. A query can read the log more than once."""
    found = {(each.segment, each.start): each.end - each.start for run in query.runs for each in run.report.damage}
    gaps = {(lost.store, lost.start): lost for run in query.runs for lost in run.lost if lost.is_gap}
    for lost in gaps.values():
        note_gap(lost)
    if found:
        note_skipped(len(found), sum(found.values()))
    return bool(found or gaps)
