"""`rmqstore diff`: the messages that only one of two stores has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from rmqstore.cli.asked import AS_JSON, FILTERS, LANGUAGE, READING, SUMMARY, WHERE, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import NUMBER, SIZE, Output
from rmqstore.cli.spoken import in_words
from rmqstore.cli.stat import keyed, minutes
from rmqstore.cli.stderr import bar, clear, note, warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from native_reader import Store

HELP = """Compare two stores: what has one of them that the other lacks? For slaves, copies, backups and old masters. Kinds of differences:

\b
  older    from before the other log begins
  newer    from after the other log ends
  missing  the other log has no whole record there; or, between logs that
           share none, no message with that unique key
  changed  the other log has another record there, or another size or checksum
  parted   from after the point where the logs part, and the other log has no
           message with that unique key

Two or more stores of DLedger peers are compared entry by entry: what each has, where they part, and which to take. With --by or --each,
the messages of two are compared instead.

Logs that share offsets are compared record by record: head, tags, unique key, and the body by its checksum. A body that is damaged is
missing. Each store is also checked, and the states of its messages are counted: two stores can lack the same. --heads compares the
heads only, which is faster: stores are not checked. The exit code is 1 if there are differences, if a message of a store is lost,
doubtful, unreachable or not read, or if a log is damaged.
"""
EPILOG = """\b
Examples:
  rmqstore diff /data/master /data/slave
  rmqstore diff /data/store s3://backup/store --by topic --by day
  rmqstore diff /data/master /data/slave --heads
  rmqstore diff /data/old-master /data/new-master --each --topic orders
  rmqstore diff /n0/store /n1/store /n2/store
"""
_BY = ("topic", "queue", "hour", "day")
_KEYS = ("only_in", "difference")
_STATES = ("state", "other_state")
_LEAST = 2
_MOST_GROUPS = 1_000_000


@click.command(help=HELP, epilog=EPILOG)
@click.option("--by", multiple=True, type=click.Choice(_BY), help="Group by this.  [default: topic]")
@click.option("--each", is_flag=True, help="Print each message instead.")
@click.option("--heads", is_flag=True, help="Compare only heads: bodies are not checked.")
@takes((click.argument("paths", metavar="A B...", nargs=-1, type=click.Path()),), FILTERS, SUMMARY, WHERE, LANGUAGE, AS_JSON, READING)
def diff(asked: Asked, by: tuple[str, ...], each: bool, heads: bool, lang: str) -> int:
    if len(asked.paths) < _LEAST:
        raise click.UsageError(in_words("two stores"), click.get_current_context())
    import native_reader

    output = Output(json=asked.as_json, zone=asked.zone)
    with warnings() as warned:
        stores, values = [replace(asked, paths=(path,)).open() for path in asked.paths], asked.values()
        if len(stores) > _LEAST and (by or each or heads or values.keys() - {"max_read_rate", "time_zone"}):
            raise click.UsageError(in_words("only two stores"), click.get_current_context())
        if len(stores) > _LEAST or (_are_peers(stores) and not (by or each or heads or values)):
            return _print_peers(output, asked, stores, lang)
        found = native_reader.diff(*stores, heads=heads, **values)
        batches = found.to_batches(asked.jobs, bar(*(() if heads else ("checking a", "checking b")), "comparing", "listing"))
        if each:
            output.batches(found.schema, batches, less=("body_crc", "inner_index", "uniq_key", *(_STATES if heads else ())))
        else:
            _print_groups(output, batches, tuple(dict.fromkeys(by or _BY[:1])))
        clear()
    for line in found.lines(lang):
        note(line)
    return CLEAN if found.is_clean and not warned.has_loss else FOUND


def _are_peers(stores: list[Store]) -> bool:
    """Whether all are stores of DLedger peers. That of one can be empty."""
    framings = [{segment.framing for files in store.stores for segment in files.segments} for store in stores]
    return any(framings) and all(not each or "dledger" in each for each in framings)


def _print_peers(output: Output, asked: Asked, stores: list[Store], language: str) -> int:
    import native_reader

    found = native_reader.peers(*stores, jobs=asked.jobs, progress=bar("comparing", language=language))
    clear()
    rows = list(found.rows())
    output.rows([*rows[0]], iter(rows), {name: NUMBER for name in rows[0] if name not in ("peer", "store")})
    for line in found.lines(language):
        note(line)
    return CLEAN if found.is_clean else FOUND


def _print_groups(output: Output, batches: Iterator[pa.RecordBatch], by: tuple[str, ...]) -> None:
    from native_reader.facts import Tally

    keys = (*_KEYS, *_STATES) if output.is_json else _KEYS
    tally = Tally((*keys, *by), ("bytes", "messages", "records"), least=("first",), most=("largest", "last"), limit=_MOST_GROUPS)
    for batch in batches:
        rows = keyed(batch, by, output.zone)
        for name in keys:
            rows = rows.append_column(name, batch[name])
        tally.add(rows)
    groups = tally.table()
    columns = (*keys, *by, "messages", "bytes", "first_store_timestamp", "last_store_timestamp")
    looks = {"messages": NUMBER, "bytes": SIZE}
    looks |= {f"{name}_store_timestamp": minutes(name, output.zone) for name in ("first", "last")}
    ordered = [] if groups is None else groups.sort_by([(name, "ascending") for name in (*keys, *by)]).to_batches(1000)
    rows = (row for batch in ordered for row in batch.to_pylist())
    output.rows(columns, ({**row, "first_store_timestamp": row["first"], "last_store_timestamp": row["last"]} for row in rows), looks)
    if tally.forgotten_groups:
        from native_reader.sentences import Said, say

        note(say("warning", what=Said("groups forgotten in diff")))
