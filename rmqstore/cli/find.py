"""`rmqstore find`: messages by key, id, offset, text or condition."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import TEXT, Asked, spelled, takes
from rmqstore.cli.given import keys_in
from rmqstore.cli.messages import BODY, MESSAGES, Messages
from rmqstore.cli.program import FOUND
from rmqstore.cli.reading import Read
from rmqstore.cli.spoken import in_words, listed
from rmqstore.cli.stderr import note
from rmqstore.text import moment_of

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

    from native_reader import Scan
    from native_reader.plan.plan import Plan

HELP = """Find messages. All conditions must be true.

Messages that the index names are printed at once. Then the bytes that the index does not cover are searched, with a progress bar.
There is no limit on the number of results, and all copies of a message are printed. Other messages whose keys have the same hash
are not. Up to 1000 results of a quick search are sorted by store time. The exit code is 1 if nothing is found.
"""
EPILOG = """\b
Examples:
  rmqstore find /data/store --key ORDER-1
  rmqstore find /data/store --key ORDER-1 --topic orders --first
  rmqstore find /data/store --msg-id 7F0000010B2818B4AAC2000000000001
  rmqstore find /data/store --offset 67652881120
  rmqstore find /data/store --offset orders/2/8817
  rmqstore find /data/store --keys orders.txt
  rmqstore find /data/store --text refund-4711
  rmqstore find /data/store --topic orders --where "body_text LIKE '%refund%'"
"""

_QUICK = 256 << 20
"""Up to this many bytes to read, results are sorted before they are printed."""
_MOST_HELD, _MOST_BYTES_HELD = 1000, 64 << 20
_ORDER = "store_timestamp", "physical_offset"
_FEW_KEYS = 1000
_MUCH = 16 << 20
"""A read of fewer bytes is quick in any case."""


def _place(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any]:
    """The conditions on the message at an offset in the log, or at TOPIC/QUEUE/OFFSET."""
    if value is None:
        return {}
    topic, *numbers = value.rsplit("/", 2)
    texts = [text.replace(",", "") for text in numbers or [topic]]
    if len(numbers) == 1 or not all(text.isdecimal() and text.isascii() and len(text) < 19 for text in texts):
        raise click.BadParameter(in_words("no offset", value=repr(value)), context, parameter)
    if not numbers:
        start = int(texts[0])
        return {"starting_physical_offset": start, "ending_physical_offset": start + 1}
    queue, offset = map(int, texts)
    bounds = {name: {topic: {queue: end}} for name, end in (("starting_offsets", offset), ("ending_offsets", offset + 1))}
    return {"topic": [topic], "queue_id": [queue], **bounds}


@click.command(help=HELP, epilog=EPILOG)
@click.option(
    "--offset", "at", callback=_place, metavar="OFFSET", help="Only the message at this offset of the log, or at TOPIC/QUEUE/OFFSET."
)
@click.option("--first", is_flag=True, help="Stop after the first message.")
@click.option("--keys", "keys_file", metavar="FILE", type=click.Path(), help="Only messages with one of these keys, one in each line.")
@BODY
@takes(MESSAGES, TEXT)
def find(asked: Asked, at: dict[str, Any], first: bool, keys_file: str | None, body: str) -> int:
    from native_reader.sentences import Said, say

    asked.check_paths()
    if keys_file is not None:
        asked = replace(asked, options={**asked.options, "keys": (*asked.options.get("keys", ()), *keys_in(keys_file))})
    conditions = asked.options.keys() - {"columns", "time_zone", "max_read_rate"}
    if not conditions and not at:
        raise click.UsageError(in_words("nothing to find"))
    if twice := sorted(at.keys() & asked.options.keys()):
        raise click.UsageError(in_words("offset sets", options=listed(map(spelled, twice))))
    messages = Messages(asked, body)
    with Read(asked) as read:
        store = asked.open()
        scan = store.messages(**asked.of_messages(**messages.defaults, **at))
        plan = scan.plan()
        with closing(read.batches(scan)) as batches:
            count = messages.print(batches if first or not _is_quick(scan) else in_order(batches), 1 if first else None)
        if count == 0 or not first:
            _note_result(read, count)
        if count == 0:
            read.code = FOUND
            if bounds := at.get("starting_offsets"):
                from native_reader.plan.unknown_names import outside_of_queue

                [(topic, wanted)] = bounds.items()
                [(queue_id, offset)] = wanted.items()
                for each in outside_of_queue(store.stores, topic, queue_id, offset):
                    note(say("note", what=each))
        logs = {each.uri: each.segments for each in store.stores}
        ends = [(segments, end) for uri, end in plan.ends if (segments := logs.get(uri))]  # those of a tier are no logs
        if count == 0 and {"keys", "msg_id"} & asked.options.keys():
            from native_reader.plan.times import time_span

            is_expired = any(each.begins for each in store.stores)
            _note_absence(asked, time_span(ends), is_expired)
            if len(asked.options.get("keys", ())) <= _FEW_KEYS:  # the index is asked for each key and each topic
                _note_missing(store.messages(**asked.of_messages(**messages.defaults, **at) | {"access": "trust", "summary": None}).plan())
        size = sum(end - segments[0].base for segments, end in ends)
        name = next((name for option, name in (("keys", "a key"), ("msg_id", "an id")) if option in asked.options), None)
        if name and "topic" not in asked.options and read.bytes_read > max(_MUCH, size // 2):
            note(say("note", what=say("read most", name=Said(name))))
    return read.code


def _is_quick(scan: Scan) -> bool:
    """Whether so little is read that the results can wait for each other. In a long search, the first ones are printed at once."""
    return sum(split.work for split in scan.plan().splits) <= _QUICK


def in_order(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in the order of their store times, if they are few; otherwise as they come."""
    held: list[pa.RecordBatch] = []
    try:
        for batch in batches:
            held.append(batch)
            if sum(map(len, held)) > _MOST_HELD or sum(each.nbytes for each in held) > _MOST_BYTES_HELD:
                break
        else:
            held = _sorted(held)
    except Exception:
        yield from held  # what was found before an error
        raise
    yield from held
    yield from batches


def _sorted(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    import pyarrow as pa

    if not batches or not set(_ORDER) <= set(batches[0].schema.names):
        return batches
    table = pa.Table.from_batches(batches).sort_by([(name, "ascending") for name in _ORDER])
    return list(table.combine_chunks().to_batches())


def _note_result(read: Read, count: int) -> None:
    from native_reader.sentences import say
    from native_reader.text import size_of

    note(say("messages found", messages=count, size=size_of(read.bytes_read)))


def _note_missing(plan: Plan) -> None:
    """Say where the index names such a message, and the log has none. `plan`: with `access=trust`, which always asks the index."""
    from native_reader.sentences import say

    offsets = sorted({offset for _, lookup in plan.lookups for offset in lookup.missing})
    if offsets:
        others = len(offsets) - 1
        one, several = say("named but missing", offset=offsets[0]), say("several named but missing", offset=offsets[0], others=others)
        note(say("note", what=several if others else one))


def _note_absence(asked: Asked, span: tuple[datetime, datetime] | None, is_expired: bool) -> None:
    """Say why a key or an id may not be found: how far back the log reaches, and how else to search."""
    from native_reader.sentences import Said, joined, say

    if span is None:
        note(say("note", what=Said("log empty")))
        return
    first, last = (moment_of(each, asked.zone) for each in span)
    note(say("note", what=say("log spans later" if is_expired else "log spans", first=first, last=last)))
    keys = asked.options.get("keys", ())
    parts = [Said("case of keys")] if keys else []
    if any("," in key for key in keys):
        parts.append(Said("comma in key"))
    note(say("note", what=joined("semicolons", [*parts, Said("search text")])))
