"""`rmqstore tail`: the newest messages, and then those that arrive."""

from __future__ import annotations

import time
from typing import Any, NoReturn

import click

from rmqstore.cli.asked import FLAGS, Asked, Number, spelled, takes
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

_PAUSE = 0.2
_PORTION = 64 << 20
"""Bytes of the log that one step reads, so that memory stays bounded however much was written."""


@click.command(help=HELP, epilog=EPILOG)
@click.option("--follow", "-f", is_flag=True, help="Wait for new messages.")
@click.option("--lines", "-n", "count", type=Number(0), metavar="N", default=10, help="Print this many messages first.  [default: 10]")
@BODY
@takes(MESSAGES)
def tail(asked: Asked, follow: bool, count: int, body: str) -> int:
    from native_reader.newest import newest

    messages = Messages(asked, body)
    values = asked.of_messages(**messages.defaults)
    with Read(asked) as read:
        if follow:
            _follow(asked, read, values, messages, count)
        for store in asked.open().stores:
            messages.print(newest(read.batches, store, values, count))
        messages.note_none()
    return read.code


def _follow(asked: Asked, read: Read, values: dict[str, Any], messages: Messages, count: int) -> NoReturn:
    """Print the newest messages, then those that follow them."""
    from native_reader.conditions import predicate_of
    from native_reader.errors import spelled as in_words
    from native_reader.log.witness import is_live
    from native_reader.newest import newest
    from native_reader.options import MessageOptions, options_of
    from native_reader.plan.estimate import TRUST
    from native_reader.scan.run import Run
    from native_reader.stream.begin import LATEST, Start
    from native_reader.stream.portion import BatchLimit
    from native_reader.stream.stream import Stream

    options = MessageOptions(**values)
    if bounded := [each.name for each in options_of(MessageOptions) if not each.streams and options.values[each.name] is not None]:
        raise click.UsageError(f"{FLAGS.get(bounded[0], bounded[0])} ends a read, and --follow never ends. Omit one of them.")
    if options.values["access"] == TRUST:
        raise click.UsageError("access=trust misses new messages, because a broker writes consume queues after the log. Omit it.")
    projection, predicate = options.projection(), predicate_of(options)
    stream = Stream(
        lambda: asked.open().stores,
        predicate,
        options.planning(),
        Start(LATEST),
        lambda text: note(f"warning: {in_words(text, spelled)}"),
    )
    try:
        offset = stream.first_offset()
        for store in asked.open().stores:
            if store.uri in offset:
                messages.print(newest(read.batches, store, values, count, offset[store.uri].end.offset))
        if not any(is_live(uri) for uri in offset):
            note("no broker on this host has the store open; waiting for new messages all the same")
        while True:
            following = stream.next_offset(offset, BatchLimit(most_bytes=_PORTION))
            if following is offset:
                time.sleep(_PAUSE)
                continue
            messages.print(read.of_run(Run(stream.plan(following), projection)))
            offset = following
    finally:
        stream.close()
