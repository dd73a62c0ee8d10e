"""`rmqstore cat`: messages."""

from __future__ import annotations

from contextlib import closing

import click

from rmqstore.cli.asked import Asked, Number, takes
from rmqstore.cli.messages import BODY, MESSAGES, Messages
from rmqstore.cli.reading import Read

HELP = """Print messages in the order of the log.

On a terminal, each message has a heading and its body below it. In a pipe, each is a line with tabs between its columns.
With --json, each is an object. Control characters are always escaped.
"""
EPILOG = """\b
Examples:
  rmqstore cat /data/store --topic orders --since '2026-01-31 12:00:00Z' --limit 10
  rmqstore cat /data/store --where "kind = 'dlq'" --json > dlq.jsonl
  rmqstore cat /data/store -t orders -c queue_id,queue_offset,body --body json
"""


@click.command(help=HELP, epilog=EPILOG)
@BODY
@click.option("--limit", "-n", type=Number(0), metavar="N", help="Print at most this many messages.")
@takes(MESSAGES)
def cat(asked: Asked, body: str, limit: int | None) -> int:
    messages = Messages(asked, body)
    with Read(asked) as read:
        scan = asked.open().messages(**asked.of_messages(**messages.defaults)).in_order()
        with closing(read.batches(scan, is_limited=limit is not None)) as batches:
            messages.print(batches, limit)
        messages.finish(read)
    return read.code
