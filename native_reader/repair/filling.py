"""What fills the holes of the log: a placeholder for each lost message, in its place where that is known, and filler between them.

Brokers and clients decode a placeholder; consumers get no message of it, or one with a mark. An ordinary message becomes an inner
batch of no messages, which clients of 5.x unpack to nothing. Its body is never empty: a client up to 5.1.4 stops for ever at a body
of length 0. In the broker's own queues, other records do no harm:

    delay     its REAL_TOPIC is the half topic, so the broker discards it when it is due
    half      it was born in 1970, so the broker neither checks nor delivers it
    op        its body is the queue offset 0, which is in no hurry to be removed twice
    timer     it recalls a timer that no one set, in the past: the broker discards it, from its queue and from the timer wheel.
              Without TIMER_OUT_MS, a broker reads the same record again for ever, and delivers no timer any more
    pop       as an ordinary message: it is neither a checkpoint nor an acknowledgement
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.errors import RepairError
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.kinds import DELAY_TOPIC, HALF_TOPIC, OP_TOPIC, TIMER_TOPIC
from native_reader.layout.properties import CRC_SIZE
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import SMALLEST_RECORD, Numbers
from native_reader.repair.batch_queues import SAYS_COUNT, count_said
from native_reader.repair.lights import NAMES_SIZE, NO_LIGHTS, lights_of
from native_reader.repair.log_shape import BLANK, Hole, LogShape
from native_reader.repair.lost import EXACT, Loose, Lost
from native_reader.repair.refusals import refusal
from native_reader.writing.records import INNER_BATCH, NEED_UNWRAP, ROLLBACK, Message, blank, encode, pack_properties


@dataclass(slots=True)
class _Free:
    """Bytes `[start, stop)` of a hole without a place that is known. `left`: how few may be left over, if any are."""

    hole: int
    start: int
    stop: int
    left: int


class Filling(NamedTuple):
    """The placeholders of all holes, by offset; and the end of the new log's last record."""

    placed: NDArray[np.void]
    """The place of each: its size can be that of the lost record."""
    sizes: Numbers
    """The size of each placeholder. If it is smaller than its place, a filler follows."""
    times: Numbers
    end: int
    ignored: Sequence[Loose] = ()
    """What only groups tell of, and has no room in the damaged bytes."""
    lights: NDArray[np.void] = NO_LIGHTS
    names: Mapping[int, bytes] = {}
    """The properties that name the light queues of placeholders, or say how many messages they stand for, by their number."""
    as_large: bool = False
    """Whether each placeholder has the size of its place: entries of databases, which are not written, name that."""
    crc: bool = False
    """Whether each record ends with a checksum (enabledAppendPropCRC)."""


def filled(
    shape: LogShape, lost: Lost, end: int, light_lists: Mapping[tuple[str, int], int], *, as_large: bool = False, crc: bool = False
) -> Filling:
    """Give each lost message a place. `end`: of the last whole record; `light_lists`: see `Survey`; the others: see `Filling`."""
    more = CRC_SIZE if crc else 0
    placed, free = list[tuple[int, int, int, int]](), list[_Free]()
    room = {key: size + NAMES_SIZE for key, size in light_lists.items()} if lost.loose_lights else {}
    for number, hole in enumerate(shape.holes):
        first, stop = np.searchsorted(lost.exact["offset"], (hole.start, hole.stop)).tolist()
        _place_known(hole, number, lost.exact[first:stop], placed, free, more=more)
    ignored = list[Loose]()
    for loose in sorted(lost.loose, key=lambda each: (each.is_passed, each.low)):
        key = lost.queues[loose.queue]
        needed = smallest_placeholder(*key) + more + room.get(key, 0) + (SAYS_COUNT if (loose.queue, loose.first) in lost.counts else 0)
        if loose.is_passed and not _has_room(free, loose, needed):
            ignored.append(loose)
        elif not _place_loose(loose, needed, free, placed):
            raise _no_place(shape.holes, loose, key)
    found = np.array(sorted(placed), EXACT)
    if len(found):
        end = max(end, int(found["offset"][-1] + found["size"][-1]))
    times = _times_of(shape.holes, found)
    spare = [size - more - smallest_placeholder(*lost.queues[queue]) for _, size, queue, _ in found.tolist()]
    lights, names, without = lights_of(lost, found, spare, light_lists)
    places = enumerate(zip(found["queue"].tolist(), found["slot"].tolist(), strict=True))
    counts = {row: count_said(place[1], lost.counts[place]) for row, place in places if place in lost.counts}
    names = {**names, **counts}
    filling = Filling(found, np.array([], np.int64), times, end, [*ignored, *without], lights, names, as_large, crc)
    sizes = [len(_placeholder(filling, lost, row)) for row in range(len(found))]
    return filling._replace(sizes=np.array(sizes, np.int64))


def _placeholder(filling: Filling, lost: Lost, row: int) -> bytes:
    """The placeholder of a number."""
    offset, size, queue, slot = filling.placed[row].item()
    names, time = filling.names.get(row, b""), int(filling.times[row])
    return placeholder(lost.queues[queue], slot, offset, size, time, more=names, as_large=filling.as_large, crc=filling.crc)


def _times_of(holes: Sequence[Hole], placed: NDArray[np.void]) -> Numbers:
    """The store time of each placeholder: that of its hole."""
    starts, times = np.array([(hole.start, hole.time) for hole in holes], np.int64).reshape(-1, 2).T
    found: Numbers = times[np.searchsorted(starts, placed["offset"], "right") - 1] if len(placed) else times[:0]
    return found


def _place_known(
    hole: Hole, number: int, exact: NDArray[np.void], placed: list[tuple[int, int, int, int]], free: list[_Free], *, more: int
) -> None:
    """Place the messages whose place is known. Where too few bytes for a filler are between two, the first gets them.

    `more`: how many bytes each record has besides, for its checksum.
    """
    smallest = SMALLEST_FILLER + more
    left = 0 if hole.is_tail else BLANK if hole.closes else smallest
    rows = exact.tolist()
    if not rows:
        if 0 < hole.stop - hole.start < min(left, SMALLEST_RECORD + more):
            raise refusal("no room", offset=hole.start, size=hole.stop - hole.start)
        free.append(_Free(number, hole.start, hole.stop, left))
        return
    at = hole.start
    ends = [row[0] for row in rows[1:]] + [hole.stop]
    for row, end in zip(rows, ends, strict=True):
        begin, size = row[0], row[1]
        if 0 < begin - at < smallest:  # only before the first one
            begin, size = at, size + begin - at
        elif begin > at:
            free.append(_Free(number, at, begin, smallest))
        least = left if end == hole.stop else smallest
        if 0 < end - (begin + size) < least:
            size = end - begin
        placed.append((begin, size, row[2], row[3]))
        at = begin + size
    if at < hole.stop:
        free.append(_Free(number, at, hole.stop, left))


def _place_loose(loose: Loose, needed: int, free: list[_Free], placed: list[tuple[int, int, int, int]]) -> bool:
    """Place messages whose own place is unknown: between their neighbours, in their order. Returns whether all have one."""
    at = max(0, bisect_right(free, loose.low, key=lambda each: each.stop))
    for slot in range(loose.first, loose.stop):
        while at < len(free) and not _fits(free[at], needed):
            at += 1
        if at == len(free) or free[at].start >= loose.high:
            return False
        space = free[at]
        rest = space.stop - space.start - needed
        size = needed + (rest if 0 < rest < space.left else 0)
        placed.append((space.start, size, loose.queue, slot))
        space.start += size
    return True


def _no_place(holes: Sequence[Hole], loose: Loose, key: tuple[str, int]) -> RepairError:
    """How many messages are lacking, and how many damaged bytes are between their neighbours: without the free end of the log."""
    inside = ((max(hole.start, loose.low), min(hole.stop, loose.high)) for hole in holes if not hole.is_tail)
    size = sum(max(0, stop - start) for start, stop in inside)
    count = loose.stop - loose.first
    return refusal("no place", topic=key[0], queue=key[1], count=count, first=loose.first, offset=max(loose.low, 0), size=size)


def _has_room(free: Sequence[_Free], loose: Loose, needed: int) -> bool:
    """Whether all of them fit between their neighbours."""
    spaces = (space for space in free if space.stop > loose.low and space.start < loose.high and _fits(space, needed))
    return sum((space.stop - space.start - BLANK) // needed for space in spaces) >= loose.stop - loose.first


def _fits(space: _Free, needed: int) -> bool:
    return space.stop - space.start >= needed + (BLANK if space.left == BLANK else 0)


def content_of(hole: Hole, filling: Filling, lost: Lost) -> Iterator[tuple[int, bytes]]:
    """The bytes of a hole in the new log, piece by piece: offset and content."""
    first, stop = np.searchsorted(filling.placed["offset"], (hole.start, hole.stop)).tolist()
    at = hole.start
    for row, (offset, size, *_) in enumerate(filling.placed[first:stop].tolist(), first):
        yield from _fillers(at, offset, hole.time, crc=filling.crc)
        record = _placeholder(filling, lost, row)
        yield offset, record
        yield from _fillers(offset + len(record), offset + size, hole.time, crc=filling.crc)
        at = offset + size
    if hole.closes:
        if at < hole.stop:
            yield at, blank(hole.stop - at)
    elif not hole.is_tail:
        yield from _fillers(at, hole.stop, hole.time, crc=filling.crc)


def _fillers(start: int, stop: int, time: int, *, crc: bool) -> Iterator[tuple[int, bytes]]:
    while start < stop:
        record = filler(start, stop - start, time, crc=crc)
        yield start, record
        start += len(record)


_COMPRESSED = 0x1
_MOST_FILLED = 256 << 10
"""A broker that starts reads a record as a whole."""
_SEPARATOR = b"\x02"
SMALLEST_FILLER = SMALLEST_RECORD - 1 + len(PLACEHOLDER_TAG)
"""With its whole topic."""


class _Form(NamedTuple):
    """What is stored in the place of a lost message of some topic, apart from what makes it longer."""

    body: bytes
    properties: bytes
    sys_flag: int = 0
    born: int | None = None


_NO_MESSAGES = zlib.compress(b"")
_EMPTY_BLOCK = b"\0\0\0\xff\xff"
"""A stored block without content: after the head of such a body, it makes it longer."""
_TAGGED = pack_properties({"TAGS": PLACEHOLDER_TAG})
_LATEST = 10**13


@cache
def _form(topic: str, queue_id: int, time: int = 0) -> _Form:
    """`time`: its store time, which only records of timers have in them, always in the same number of digits."""
    if topic == DELAY_TOPIC:
        names = {"DELAY": str(queue_id + 1), "REAL_TOPIC": HALF_TOPIC, "REAL_QID": "0"}
        return _Form(b"0", pack_properties(names))
    if topic == HALF_TOPIC:
        return _Form(b"0", _TAGGED, born=1)
    if topic == OP_TOPIC:  # these records are small: there is no room for a tag
        return _Form(b"0", b"")
    if topic == TIMER_TOPIC:
        names = {"TIMER_OUT_MS": f"{time % _LATEST:013}", "TIMER_DEL_UNIQKEY": PLACEHOLDER_TAG, "REAL_QID": "0", "TAGS": PLACEHOLDER_TAG}
        return _Form(b"0", pack_properties(names))
    return _Form(_NO_MESSAGES, _TAGGED, _COMPRESSED | NEED_UNWRAP | INNER_BATCH)


@cache
def smallest_placeholder(topic: str, queue_id: int) -> int:
    """The size of the smallest record that can stand for a lost message of a topic."""
    form = _form(topic, queue_id)
    return len(encode(Message(topic=topic, body=form.body, properties=form.properties)))


def code_of(topic: str, time: int) -> int:
    """The tags code of its queue entry: a tag that no consumer asks for; of a delayed message the due time, which has passed."""
    return time if topic == DELAY_TOPIC else 0 if topic == OP_TOPIC else java_hash(PLACEHOLDER_TAG)


def placeholder(
    queue: tuple[str, int], slot: int, offset: int, room: int, time: int, *, more: bytes = b"", as_large: bool = False, crc: bool = False
) -> bytes:
    """A record for a lost message, with `more` properties. It has `room` bytes, or fewer if a filler fits after it."""
    topic, queue_id = queue
    form, least = _form(topic, queue_id, time if topic == TIMER_TOPIC else 0), smallest_placeholder(topic, queue_id) + len(more)
    checksum = CRC_SIZE if crc else 0
    slack = room - least - checksum
    if slack < 0:
        raise refusal("no room", offset=offset, size=room)
    properties, body = form.properties + more, form.body
    if as_large and body == _NO_MESSAGES:
        body, slack = _NO_MESSAGES[:2] + _EMPTY_BLOCK * (slack // len(_EMPTY_BLOCK)) + _NO_MESSAGES[2:], slack % len(_EMPTY_BLOCK)
    elif as_large:
        body, slack = body + b"0" * slack, 0
    if slack < SMALLEST_FILLER + checksum:
        # Both ways in which brokers parse properties pass empty ones; the op topic's consumer reads a number.
        body, properties = (body + b"0" * slack, properties) if topic == OP_TOPIC else (body, properties + _SEPARATOR * slack)
    message = Message(
        topic=topic, body=body, properties=properties, queue_id=queue_id, queue_offset=slot, sys_flag=form.sys_flag,
        born_timestamp=time if form.born is None else form.born, store_timestamp=time,
        property_crc="proper" if crc else "",
    )  # fmt: skip
    return encode(message, offset)


def filler(offset: int, room: int, time: int, *, crc: bool = False) -> bytes:
    """A record that rolls back a transaction (4.0 to 4.2): brokers put it into no queue. It has at most `room` bytes."""
    least = SMALLEST_RECORD - 1 + (CRC_SIZE if crc else 0)
    size = room if room <= _MOST_FILLED else min(_MOST_FILLED, room - least - len(PLACEHOLDER_TAG))
    topic = PLACEHOLDER_TAG[: size - least]
    message = Message(
        topic=topic, body=bytes(size - least - len(topic)), sys_flag=ROLLBACK, born_timestamp=time, store_timestamp=time,
        property_crc="proper" if crc else "",
    )  # fmt: skip
    return encode(message, offset)
