"""`rmqstore ls`: stores, topics, queues. It reads a few entries of each queue, and nothing of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, BROKER, NAMES, PATHS, PLACES, READING, WHERE, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import NUMBER, SIZE, Output, size
from rmqstore.cli.spoken import spoken
from rmqstore.cli.stderr import bar, clear, note, warnings
from rmqstore.text import for_people, safe

if TYPE_CHECKING:
    import pyarrow as pa

    from native_reader import Store

HELP = """List the topics of a store, with --queues its queues, or with --stores only the stores.

The numbers come from the consume queues, so they are quick. A deleted topic has no queue, and no queue lists prepared or rolled back
messages: `rmqstore stat` counts what the log has.
"""
EPILOG = """\b
Examples:
  rmqstore ls /data/store
  rmqstore ls /data/store --queues --where "topic = 'orders'"
  rmqstore ls '/backup/*' --stores
"""

_QUEUE = ("store", "topic", "queue_id", "type", "min_offset", "max_offset", "entries", "expired", "files", "bytes", "found")
"""The columns of the table `queues` that need no look at the log."""
_TOPIC = ("store", "topic", "kind", "queues", "messages")
_LIGHT = "LMQ"
_LESS = ("files", "expired", "type", "entries", "bytes", "min_offset")
"""What a narrow terminal does not show, the first one first."""


@click.command(help=HELP, epilog=EPILOG)
@click.option("--stores", "what", flag_value="stores", help="List the stores, with the size of their logs.")
@click.option("--queues", "what", flag_value="queues", help="List each queue, with its offsets.")
@takes(PATHS, NAMES, WHERE, AS_JSON, READING, PLACES)
def ls(asked: Asked, what: str | None) -> int:
    from native_reader.sentences import Said, say

    output = Output(json=asked.as_json, zone=asked.zone)
    with warnings():
        store = asked.open()
    names = asked.brokers_shown(store)
    first = (BROKER,) if names else ()
    if what == "stores":
        looks = {"segments": NUMBER, "bytes": SIZE, "first_offset": NUMBER, "next_offset": NUMBER}
        output.rows((*first, "store", "segments", "bytes", "first_offset", "next_offset"), _stores(store, names), looks)
        return CLEAN
    if output.is_terminal:
        for each in _stores(store, names):
            said = say("store listed", store=for_people(each["store"]), segments=each["segments"], size=size(each["bytes"]))
            said = say("store of broker", broker=safe(each[BROKER]), what=said) if names else said
            output.line(said.text(spoken()))
    hidden = {"store"} if output.is_terminal else set()  # the lines above say it
    with warnings() as warned:
        queues = store.table("queues", **asked.values(columns=_QUEUE))
        if what == "queues":
            columns = [name for name in (*first, *_QUEUE) if name not in hidden]
            looks = dict.fromkeys(("min_offset", "max_offset", "entries", "expired", "files"), NUMBER) | {"bytes": SIZE}
            rows = (row for batch in queues.to_batches(asked.jobs, progress=bar()) for row in batch.to_pylist())
            output.rows(columns, _with_brokers(rows, names), looks, _LESS)
        else:
            columns = [name for name in (*first, *_TOPIC) if name not in hidden]
            topics, light = _topics(queues.to_batches(asked.jobs, progress=bar()))
            clear()
            output.rows(columns, _with_brokers(topics, names), {"queues": NUMBER, "messages": NUMBER})
            if light:
                note(say("light queues left out", count=light))
            if not topics:
                note(Said("no queues to list"))
            elif output.is_terminal:
                note(Said("counted from queues"))
        clear()
    return FOUND if warned.has_loss else CLEAN


def _with_brokers(rows: Iterable[dict[str, Any]], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    return (row | {BROKER: names.get(row["store"])} for row in rows)


def _stores(store: Store, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for each in store.stores:
        end = each.segments[-1].end if each.segments else each.min_offset
        sizes = {"segments": len(each.segments), "bytes": sum(segment.size for segment in each.segments)}
        yield {BROKER: names.get(each.uri), "store": each.uri, **sizes, "first_offset": each.min_offset, "next_offset": end}


def _topics(queues: Iterator[pa.RecordBatch]) -> tuple[list[dict[str, Any]], int]:
    """A row for each topic, by name, and the number of light queues."""
    from native_reader.layout.kinds import kind_of_topic

    # pyarrow's sums by group would import its datasets: a tenth of a command's start.
    topics, light = dict[tuple[str, str], list[int]](), 0
    for batch in queues:
        for queue in batch.select(["store", "topic", "type", "min_offset", "max_offset"]).to_pylist():
            if queue["type"] == _LIGHT:
                light += 1
                continue
            counts = topics.setdefault((queue["store"], queue["topic"]), [0, 0])
            counts[0] += 1
            counts[1] += (queue["max_offset"] or 0) - (queue["min_offset"] or 0)
    rows = [
        {"store": store, "topic": topic, "kind": kind_of_topic(topic), "queues": count, "messages": messages}
        for (store, topic), (count, messages) in sorted(topics.items())
    ]
    return rows, light
