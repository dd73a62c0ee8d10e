"""`rmqstore dlq`: the messages that consumer groups gave up, and how to export them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from shlex import join
from typing import Any

import click

from rmqstore.cli.asked import AS_JSON, BROKER, FLAGS, GROUPS, NAMES, PATHS, PLACES, READING, WHERE, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import NUMBER, SIZE, ColumnLook, Output
from rmqstore.cli.stat import age_of, minutes
from rmqstore.cli.stderr import bar, clear, note, warnings

HELP = """Show the messages that consumer groups gave up (%DLQ%), by group and by the topic they were sent to, the most first.

\b
  messages  that are still in the log: they expire with their segments
  failures  how often consumers failed on one of them, at most
  first     when the first of them was given up
  last      when the last of them was given up

A broker stores no reason. Of the log, only what may hold such messages is read, if the consume queues show where.
"""
EPILOG = """\b
Examples:
  rmqstore dlq /data/store
  rmqstore dlq /data/store --group billing
  rmqstore dlq /data/store --json
"""
_READ = ("group", "origin_topic", "messages", "bytes", "max_reconsume_times", "first_store_timestamp", "last_store_timestamp")
_LESS = ("last", "bytes")


@click.command(help=HELP, epilog=EPILOG)
@takes(PATHS, GROUPS, NAMES, WHERE, AS_JSON, READING, PLACES)
def dlq(asked: Asked) -> int:
    output, rows = Output(json=asked.as_json, zone=asked.zone), []
    with warnings() as warned:
        store = asked.open()
        names = asked.brokers_shown(store)
        table = store.table("dlq", **asked.values(columns=["store", *_READ]))
        for batch in table.to_batches(asked.jobs, progress=bar()):
            rows += [_row(row, names) for row in batch.to_pylist()]
        clear()
    rows.sort(key=lambda row: -row["messages"])
    _print(output, rows, ((BROKER,) if names else ()))
    if not asked.as_json:
        _summarize(rows, asked)
    return FOUND if warned.has_loss else CLEAN


def _row(row: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    times = {name: row[f"{name}_store_timestamp"] for name in ("first", "last")}
    return {BROKER: names.get(row["store"])} | {name: row[name] for name in _READ[:4]} | {"failures": row["max_reconsume_times"]} | times


def _print(output: Output, rows: list[dict[str, Any]], first: tuple[str, ...]) -> None:
    looks = {"messages": NUMBER, "bytes": SIZE, "failures": NUMBER}
    columns: tuple[str, ...] = (*first, "group", "origin_topic", "messages", "bytes", "failures", "first", "last")
    if output.is_terminal:
        columns = (*columns, "age")
        looks |= {name: minutes(name, output.zone) for name in ("first", "last")}
        looks["age"] = ColumnLook(partial(age_of, time.time()))
    output.rows(columns, ({**row, "age": row["first"]} for row in rows), looks, _LESS)


def _summarize(rows: list[dict[str, Any]], asked: Asked) -> None:
    from native_reader.sentences import Said

    if not rows:
        note(Said("none given up of these" if "where" in asked.options else "none given up"))
        return
    places = [each for name, value in asked.places.items() for each in (FLAGS[name], value)]
    is_filtered = "where" in asked.options
    topics = [each for group in sorted({row["group"] for row in rows} if is_filtered else ()) for each in ("--topic", f"%DLQ%{group}")]
    note(Said("to export dead of groups" if is_filtered else "to export dead"))
    note(f"  rmqstore export {join((*asked.paths, *places, '-o', 'dead-letters', *topics))} --where \"kind = 'dlq'\" --columns '*'")
