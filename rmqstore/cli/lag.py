"""`rmqstore lag`: which consumer groups are behind, since when, and what they have lost."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, BROKER, NAMES, PATHS, PLACES, READING, WHERE, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import NUMBER, ColumnLook, Output
from rmqstore.cli.stat import age_of, minute_of
from rmqstore.cli.stderr import bar, clear, note, warnings

if TYPE_CHECKING:
    import pyarrow as pa

HELP = """Show how far consumer groups are behind, by group and topic, the largest lag first: from the offsets that the broker stored.

\b
  lag            messages between the group's offset and the end of the queue
  expired        those of them that are no longer in the log: the group never gets them
  tiered         those of them that are in tiered storage only; shown if there are any
  behind         queues with a lag
  oldest_unread  when the first message was stored that the group has not read

A group with a tag filter skips messages: rmqstore tables STORE lag_by_tag counts them by tag. Nothing in the store says how fast a
group consumes; two runs do. If there are several stores, each row names its broker. Of the log, one record of each queue is read.
"""
EPILOG = """\b
Examples:
  rmqstore lag /data/store
  rmqstore lag /data/store --by queue --where "group = 'billing'"
  rmqstore lag /data/store --all --json
"""
_BY = {"topic": ("group", "topic"), "queue": ("group", "topic", "queue_id")}
_READ = ("store", "group", "topic", "queue_id", "lag", "expired", "tiered", "oldest_unread")


@click.command(help=HELP, epilog=EPILOG)
@click.option(
    "--by", type=click.Choice(tuple(_BY)), default="topic", help="A row for each topic of a group, or each queue.  [default: topic]"
)
@click.option("--all", "is_all", is_flag=True, help="Also groups that are not behind.")
@takes(PATHS, NAMES, WHERE, AS_JSON, READING, PLACES)
def lag(asked: Asked, by: str, is_all: bool) -> int:
    from native_reader.facts import Tally

    output, unknown, ahead = Output(json=asked.as_json, zone=asked.zone), 0, 0
    with warnings() as warned:
        store = asked.open()
        names = asked.brokers_shown(store)
        keys = (*(("store",) if names else ()), *_BY[by])
        tally = Tally(keys, ("lag", "expired", "tiered", "behind"), least=("oldest_unread",), limit=None)
        table = store.table("consumer_offsets", **asked.values(columns=list(_READ)))
        for batch in table.to_batches(asked.jobs, progress=bar()):
            rows = batch.to_pylist()
            unknown += sum(row["lag"] is None for row in rows)
            ahead += sum(row["lag"] is not None and row["lag"] < 0 for row in rows)
            tally.add(_counted(batch, keys))
        clear()
    found = tally.table()
    rows = [] if found is None else [row for batch in found.to_batches(1000) for row in batch.to_pylist()]
    shown = [row | {BROKER: names.get(row.get("store", ""))} for row in rows if is_all or row["lag"]]
    _print(output, shown, (*((BROKER,) if names else ()), *_BY[by]))
    if not asked.as_json:
        _summarize(rows, shown, unknown, ahead, is_filtered="where" in asked.values())
    return FOUND if warned.has_loss else CLEAN


def _counted(batch: pa.RecordBatch, keys: tuple[str, ...]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.max_element_wise(batch["lag"], 0)  # null counts as 0
    counts = {
        "lag": known,
        **{name: batch[name].fill_null(0) for name in ("expired", "tiered")},
        "behind": pc.greater(known, 0).cast(pa.int64()),
    }
    return pa.table({name: batch[name] for name in keys} | counts | {"oldest_unread": batch["oldest_unread"]})


def _print(output: Output, rows: list[dict[str, Any]], keys: tuple[str, ...]) -> None:
    looks = dict.fromkeys(("lag", "expired", "tiered", "behind"), NUMBER)
    tiered = ("tiered",) if any(row["tiered"] for row in rows) else ()
    columns = (*keys, "lag", "expired", *tiered, *(() if "queue_id" in keys else ("behind",)), "oldest_unread")
    if output.is_terminal:
        columns = (*columns, "age")
        looks["age"] = ColumnLook(partial(age_of, time.time()))
        looks["oldest_unread"] = ColumnLook(partial(minute_of, output.zone), is_number=False)
    output.rows(columns, ({**row, "age": row["oldest_unread"]} for row in rows), looks, ("behind", "oldest_unread"))


def _summarize(rows: list[dict[str, Any]], shown: list[dict[str, Any]], unknown: int, ahead: int, *, is_filtered: bool) -> None:
    from native_reader.text import counted

    if not rows:
        note("no consumer offset matches" if is_filtered else "the store has no consumer offsets")
    elif len(shown) < len(rows):
        note(f"--all also shows {counted(len(rows) - len(shown), 'row')} without a lag")
    if tiered := sum(row["tiered"] for row in rows):
        note(f"note: {counted(tiered, 'message')} of the lag {'is' if tiered == 1 else 'are'} in tiered storage, which is not read")
    if unknown:
        note(f"note: the lag of {counted(unknown, 'offset')} is not known: the queue has no files, or the position in it is not stored")
    if ahead:
        note(f"warning: {counted(ahead, 'offset')} after the end of the queue: it lost entries, or was copied before the offsets")
