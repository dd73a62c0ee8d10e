"""`rmqstore tail`: the newest messages, and then those that arrive."""

from __future__ import annotations

from typing import Any

import click

from rmqstore.cli.asked import Asked, Number, takes
from rmqstore.cli.messages import BODY, MESSAGES, Messages
from rmqstore.cli.reading import Read
from rmqstore.cli.stderr import note

HELP = """Print the newest messages that match. With -f, then print new ones as they arrive, until you interrupt it.

Only whole messages are printed, each once. A running broker is not disturbed; --rate limits what is read.
"""
EPILOG = """\b
Examples:
  rmqstore tail /data/store
  rmqstore tail -f /data/store --topic orders
  rmqstore tail -f -n 0 /data/store --where "kind = 'dlq'" --json
"""


@click.command(help=HELP, epilog=EPILOG)
@click.option("--follow", "-f", is_flag=True, help="Wait for new messages.")
@click.option("--lines", "-n", "count", type=Number(0), metavar="N", default=10, help="Print this many messages first.  [default: 10]")
@BODY
@takes(MESSAGES)
def tail(asked: Asked, follow: bool, count: int, body: str) -> int:
    messages = Messages(asked, body)
    values = asked.of_messages(**messages.defaults)
    with Read(asked) as read:
        if follow:
            _follow(asked, read, values, messages, count)
        for one in asked.open().one_by_one():
            messages.print(one.newest(count, read=read.batches, **values).to_batches())
        messages.finish(read)
    return read.code


def _follow(asked: Asked, read: Read, values: dict[str, Any], messages: Messages, count: int) -> None:
    """Print the newest messages, then those that follow them."""
    from native_reader.errors import Line
    from native_reader.sentences import Said, say

    def warn(line: str) -> None:
        note(say("warning", what=line.said if isinstance(line, Line) and isinstance(line.said, Said) else line))

    with asked.open().follow(start="latest", warn=warn, **values) as arrivals:
        messages.print(arrivals.newest(count, read.batches))
        if not arrivals.is_live:
            note(Said("not followed"))
        for run in arrivals.runs():
            messages.print(read.of_run(run))
