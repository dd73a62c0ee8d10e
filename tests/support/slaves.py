"""Stores of slaves: topics with inner batches have ordinary queues."""

from __future__ import annotations

from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties
from support.indexed_stores import indexed
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, log_of, message


def batch(number: int, count: int) -> Message:
    units = [{"TAGS": f"tag{unit}", "KEYS": f"i{number}-{unit}", "UNIQ_KEY": f"I{number}.{unit}"} for unit in range(count)]
    packed = pack_inner(InnerMessage(b"%d" % unit, pack_properties(each)) for unit, each in enumerate(units))
    return Message(topic="batched", body=packed, sys_flag=INNER_BATCH, store_timestamp=1_700_000_000_000 + number)


def slave(*counts: int, segment_size: int = 16384) -> Files:
    """Inner batches with `counts` messages, between ordinary messages. A count of 0 is a single message of the same topic."""
    messages = []
    for number, count in enumerate(counts):
        messages += [
            message(2 * number),
            batch(number, count) if count else message(100 + number, topic="batched"),
            message(2 * number + 1),
        ]
    log = log_of(numbered(messages), segment_size=segment_size)
    return files_of(log) | dispatched(log.placed, file=4000, slave=True) | indexed(log.placed)
