"""`rmqstore export`: messages as files."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, COLUMNS, FILTERS, PATHS, PLACES, READING, STRICT, WHERE, WRITTEN_SUMMARY, Asked, spelled, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.spoken import in_words, spoken
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.cli.summarize import complete, has_conditions
from rmqstore.text import as_json

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from native_reader import Exported

HELP = """Write messages to files in a folder.

You can stop it at any time, even with kill -9. The same command then continues, and every message is there once. Checksums are
verified. Damage is skipped and listed in _damage.jsonl; the exit code is then 1. It is also 1 if nothing is exported because the
topic, queue, key or id is not in the store. _summary.json has the counts.

With --state, each run writes only the messages that came since the last run with that file, into folders by day: for cron. Every
message is there once, also if a run was killed.

\b
Formats:
  parquet  every column in its own type (the default)
  arrow    likewise, as Arrow IPC files
  jsonl    one JSON object per line; times are ISO 8601 in UTC
  csv      with a header; keys and properties are JSON text

Bodies in jsonl and csv are base64, or with --text UTF-8 text in which other bytes become U+FFFD.
"""
EPILOG = """\b
Examples:
  rmqstore export /data/store -o out --topic orders --since '2026-01-31 00:00:00Z'
  rmqstore export /data/store -o out --partition-by topic,day --jobs 4
  rmqstore export /data/store -o lake --state lake.json
  rmqstore export /data/store -o dead-letters --for-resend --where "kind = 'dlq'"
  rmqstore export /data/store -o out --to csv --text --columns topic,queue_offset,tags,body
"""

_DEFAULT = "parquet"
DROPMALFORMED = "DROPMALFORMED"
RESEND_COLUMNS = (
    "store,physical_offset,kind,topic,origin_topic,real_topic,queue_id,msg_id,offset_msg_id,keys,tags,flag,delay_level,store_timestamp,"
    "properties,body"
)
_SELECTING = {"topic", "topic_pattern", "tags", "keys", "msg_id", "where"}


def _formats(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from native_reader.export.formats import FORMATS

    return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


@click.command(help=HELP, epilog=EPILOG)
@click.option("--output", "-o", metavar="FOLDER", required=True, type=click.Path(), help="The folder: a new one, or one to continue.")
@takes(PATHS, FILTERS, WRITTEN_SUMMARY, WHERE, COLUMNS, AS_JSON, STRICT, READING, PLACES)
@click.option("--to", default=_DEFAULT, metavar="FORMAT", shell_complete=_formats, help="parquet, arrow, jsonl or csv.  [default: parquet]")
@click.option("--state", type=click.Path(), metavar="FILE", help="Write only what came since the last run with this file.")
@click.option("--partition-by", metavar="NAMES", help="A folder for each value of these columns, or of 'day': topic,day.")
@click.option("--compression", metavar="NAME", help="Of the files: none, zstd, gzip …  [default: zstd for parquet, else none]")
@click.option("--text", "text_bodies", is_flag=True, help="Bodies as text in jsonl and csv.")
@click.option("--for-resend", is_flag=True, help="JSON lines with what a producer needs to send the messages again: docs/resend.md.")
def export(asked: Asked, output: str, *, state: str | None, for_resend: bool, **files: Any) -> int:
    from native_reader.sentences import say

    if for_resend:
        asked, files = _for_resend(asked, files)
    if state is not None:
        return _export_new(asked, output, state, files)
    files["partition_by"] = files["partition_by"] or ""
    with warnings() as warned:
        store = asked.open()
        if not has_conditions(asked):
            complete(asked, store)
        scan = store.messages(**asked.of_messages(verify_crc=True))
        for each in scan.unread_tiers(spelled, spoken()):
            note(say("note", what=each))
        done = scan.export(output, **files, jobs=asked.jobs, progress=bar())
        clear()
    if asked.as_json:
        click.echo(as_json({name: value for name, value in done.to_dict().items() if name not in ("request", "segments")}))
    _print_result(done)
    is_unknown = not done.rows and (warned.has_unknown or _is_without_key(asked))
    return FOUND if is_unknown or done.is_damaged or warned.has_loss else CLEAN


def _export_new(asked: Asked, output: str, state: str, files: dict[str, Any]) -> int:
    """One run of an export with a state. What expired since the last run is an error, unless the user said otherwise."""
    from native_reader.sentences import Said, say
    from native_reader.text import size_of

    if files["partition_by"] is None:
        files["partition_by"] = "day"
    with warnings() as warned:
        options = asked.values(**({} if asked.strict else {"mode": DROPMALFORMED}), verify_crc=True)
        run = asked.open().export_new(output, state, **files, jobs=asked.jobs, progress=bar(), **options)
        clear()
    if asked.as_json:
        click.echo(as_json({"rows": 0, "files": []} if run is None else asdict(run)))
    if run is None:
        note(Said("no new messages"))
        return FOUND if warned.has_loss or warned.has_unknown else CLEAN
    note(say("export run", run=run.number, messages=run.rows, files=len(run.files), size=size_of(run.bytes), folder=run.path))
    if run.damaged:
        where = f"{run.path}/_runs/run-{run.number:06}_damage.jsonl"
        note(say("warning", what=say("run not read", ranges=run.damaged, file=where)))
    return FOUND if run.damaged or warned.has_loss or (warned.has_unknown and not run.rows) else CLEAN


def _for_resend(asked: Asked, files: dict[str, Any]) -> tuple[Asked, dict[str, Any]]:
    """The export with the columns that a producer needs. A message has several records, so the user must say which ones."""
    context = click.get_current_context()
    if "columns" in asked.options or files["text_bodies"] or files["to"] not in (_DEFAULT, "jsonl"):
        raise click.UsageError(in_words("resend sets"), context)
    if not _SELECTING & asked.options.keys():
        raise click.UsageError(in_words("resend needs"), context)
    return replace(asked, options={**asked.options, "columns": RESEND_COLUMNS}), files | {"to": "jsonl"}


def _is_without_key(asked: Asked) -> bool:
    """Whether a key or an id was asked for, of which nothing was exported. Says so."""
    if is_asked := bool({"keys", "msg_id"} & asked.options.keys()):
        from native_reader.sentences import Said, say

        note(say("warning", what=Said("none exported")))
    return is_asked


def _print_result(done: Exported) -> None:
    """Print what was written and what is missing."""
    from native_reader.sentences import say
    from native_reader.text import size_of

    note(say("exported", messages=done.rows, files=len(done.files), size=size_of(done.bytes), folder=done.path))
    if done.is_damaged:
        count = len(done.report.damage) + len(done.missing)
        note(say("warning", what=say("not exported", ranges=count, folder=done.path)))
