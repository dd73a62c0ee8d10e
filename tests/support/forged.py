"""Logs with forged records in bodies. Their physical offsets are correct, so their bytes look like those of true records."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from struct import pack

from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message, blank, encode, forge
from support.stores import message

FORGED = "forged"
START = 1_700_000_000_000


def forged_log(count: int, segment_size: int, *, seed: int = 1) -> CommitLog:
    """`count` messages, one second apart. About every third body contains a forged record with a random time."""
    chance, log = Random(seed), CommitLog(segment_size)
    for number in range(count):
        mine = message(number, store_timestamp=START + 1000 * number, body=b"." * chance.randrange(200))
        if chance.randrange(3) == 0:
            inner = message(number, topic=FORGED, store_timestamp=START + 1000 * chance.randrange(count))
            room = segment_size - (log.end % segment_size)
            if len(encode(forge(mine, inner, log.end))) + 8 <= room:
                mine = forge(mine, inner, log.end)
                mine = replace(mine, body=mine.body + b"." * 40)
        log.append(mine)
    return log


def swallowing() -> CommitLog:
    """A log with a forged record that covers the true records after it and ends with the last of them."""
    log = CommitLog(1 << 16)
    log.append(message(0))
    # The last body contains the forged record's topic and the size of its properties. Its properties are the topic and properties
    # of the last record, with their sizes.
    properties = b"P\1and so on\2"
    taken = len(b"\1o") + 2 + len(properties)
    last = Message(topic="o", body=b"yyyy\1v" + pack(">h", taken), properties=properties)
    outer, inside = Message(topic="evil", body=b"#" * 100), [message(number) for number in range(2, 22)]
    place = log.end + encode(outer).index(outer.body) + 4
    end = log.end + sum(len(encode(each)) for each in (outer, *inside, last))
    head = bytearray(encode(Message(topic="v"), place)[:88])
    head[:4] = pack(">i", end - place)
    head[84:88] = pack(">i", end - place - len(head) - len(b"\1v") - 2 - taken)
    for each in (replace(outer, body=b"." * 4 + bytes(head) + b"." * 8), *inside, last, message(30)):
        log.append(each)
    return log


def ending_in_a_forged_blank(segment_size: int) -> CommitLog:
    """A log whose newest body contains a forged record and a forged blank that closes the segment."""
    log = CommitLog(segment_size)
    for number in range(200):
        log.append(message(number, body=b"o" * 3000))
    carrier = message(200, body=b"x" * 300_000)
    forging = forge(carrier, message(201, topic=FORGED), log.end)
    blank_at = log.end + encode(forging).index(forging.body) + len(forging.body)
    log.append(replace(forging, body=forging.body + blank(segment_size - blank_at) + b"y" * 100))
    return log
