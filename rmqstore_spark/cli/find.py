"""`rmqstore find`: messages by key, id, offset or condition."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from rmqstore_spark.cli.asked import Asked, spelled, takes
from rmqstore_spark.cli.messages import BODY, MESSAGES, Messages
from rmqstore_spark.cli.reading import Read
from rmqstore_spark.cli.stderr import note

HELP = """Find messages. All conditions must be true.

Messages that the index names are printed at once. Then the bytes that the index does not cover are searched, with a progress bar.
There is no limit on the number of results, and all copies of a message are printed. Other messages whose keys have the same hash
are not.
"""
EPILOG = """\b
Examples:
  rmqstore find /data/store --key ORDER-1
  rmqstore find /data/store --key ORDER-1 --topic orders --first
  rmqstore find /data/store --msg-id 7F0000010B2818B4AAC2000000000001
  rmqstore find /data/store --offset 67652881120
  rmqstore find /data/store --offset orders/2/8817
  rmqstore find /data/store --topic orders --where "body_text LIKE '%refund%'"
"""


def _place(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any]:
    """The conditions on the message at an offset in the log, or at TOPIC/QUEUE/OFFSET."""
    if value is None:
        return {}
    topic, *numbers = value.rsplit("/", 2)
    texts = [text.replace(",", "") for text in numbers or [topic]]
    if len(numbers) == 1 or not all(text.isdecimal() and text.isascii() and len(text) < 19 for text in texts):
        raise click.BadParameter(f"{value!r} is neither an offset in the log nor TOPIC/QUEUE/OFFSET", context, parameter)
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
@BODY
@takes(MESSAGES)
def find(asked: Asked, at: dict[str, Any], first: bool, body: str) -> int:
    conditions = asked.options.keys() - {"columns", "time_zone", "max_read_rate"}
    if not conditions and not at:
        raise click.UsageError("Nothing to find. Use --key, --msg-id, --offset or --where; rmqstore cat prints all messages.")
    if twice := sorted(at.keys() & asked.options.keys()):
        raise click.UsageError(f"--offset already sets {', '.join(map(spelled, twice))}.")
    messages = Messages(asked, body)
    with Read(asked) as read:
        scan = asked.open().messages(**asked.of_messages(**messages.defaults, **at))
        with closing(read.batches(scan)) as batches:
            count = messages.print(batches, 1 if first else None)
        if not first:
            from native_reader.plan.ends import counted
            from native_reader.plan.explain import size_of

            note(f"{counted(count, 'message')} found; {size_of(read.bytes_read)} of the log were read")
    return read.code
