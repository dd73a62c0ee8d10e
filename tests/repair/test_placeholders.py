"""The records that fill a hole: of exactly the size that is free, valid for a second decoder, and without a message for consumers."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.plain_decoder import decompressed, plain_record_at, rows_of

import native_reader as nr
from native_reader.layout.kinds import DELAY_TOPIC, HALF_TOPIC, OP_TOPIC, TIMER_TOPIC
from native_reader.layout.properties import CRC_SIZE, crc_trailer
from native_reader.repair.filling import SMALLEST_FILLER, content_of, filled, filler, placeholder, smallest_placeholder
from native_reader.repair.log_shape import Hole, LogShape
from native_reader.repair.lost import EXACT, Loose, Lost
from native_reader.writing.records import crc_of

QUEUES = [("orders", 3), ("订单", 0), (DELAY_TOPIC, 17), (HALF_TOPIC, 0), (OP_TOPIC, 0), (TIMER_TOPIC, 0)]
TIME = 1_700_000_000_000


@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("queue", QUEUES, ids=[topic for topic, _ in QUEUES])
def test_a_placeholder_of_any_size(queue: tuple[str, int], crc: bool) -> None:
    least, more = smallest_placeholder(*queue), CRC_SIZE if crc else 0
    for room in [*range(least + more, least + 300), 5000]:
        content = placeholder(queue, 7, 1000, room, TIME, crc=crc)
        assert len(content) == room or room - len(content) >= SMALLEST_FILLER + more, "no filler fits after it"
        assert crc_trailer(content) == (crc_of(content[:-CRC_SIZE]) if crc else None)
        record = plain_record_at(content, 1000, 0)
        assert record is not None
        (row,) = rows_of(record)
        assert (row["topic"], row["queue_id"], row["queue_offset"], row["physical_offset"]) == (*queue, 7, 1000)
        assert row["stored_body"], "clients up to 5.1.4 stop for ever at a body of length 0"
        assert row["body_crc"] == zlib.crc32(row["stored_body"]) & 0x7FFFFFFF
        if queue[0] == TIMER_TOPIC:  # as a broker reads it; without any of them, it reads the record again and again
            due, deletes, number = (row["properties"][name] for name in ("TIMER_OUT_MS", "TIMER_DEL_UNIQKEY", "REAL_QID"))
            assert (int(due), deletes, int(number)) == (TIME, "RMQSTORE_LOST", 0)
        if queue[0] not in (DELAY_TOPIC, HALF_TOPIC, OP_TOPIC, TIMER_TOPIC):
            assert row["tags"] == "RMQSTORE_LOST"
            assert decompressed(row["stored_body"], row["sys_flag"]) == b"", "it holds messages"


def test_too_little_room_is_refused() -> None:
    with pytest.raises(nr.RepairError, match="120 damaged bytes at offset 1,000 have no room for a record"):
        placeholder(("orders", 0), 7, 1000, 120, TIME)


@pytest.mark.parametrize("crc", [False, True])
def test_a_filler_is_in_no_queue(crc: bool) -> None:
    more = CRC_SIZE if crc else 0
    for room in [*range(92 + more, 400), 1 << 20]:
        at = 0
        while at < room:
            content = filler(at, room - at, TIME, crc=crc)
            assert crc_trailer(content) == (crc_of(content[:-CRC_SIZE]) if crc else None)
            record = plain_record_at(content, at, 0)
            assert record is not None
            (row,) = rows_of(record)
            assert row["kind"] == "rollback"
            assert row["topic"] == "RMQSTORE_LOST" or room < SMALLEST_FILLER + more
            at += len(content)
        assert at == room


@st.composite
def holes(draw: st.DrawFn) -> tuple[Hole, Lost]:
    """A hole of some size, with lost records in known places, and some whose places are not known."""
    at, exact = draw(st.integers(0, 300)), list[tuple[int, int, int, int]]()
    for slot in range(draw(st.integers(0, 5))):
        size = draw(st.integers(140, 600))
        exact.append((at, size, 0, slot))
        at += size + draw(st.sampled_from([0, 0, 1, 50, 91, 92, 200]))
    stop = max(at, 92) + draw(st.sampled_from([0, 1, 8, 91, 92, 500]))
    closes = draw(st.booleans())
    loose = [Loose(1, 0, draw(st.integers(1, 2)), -1, 2**62)] if draw(st.booleans()) else []
    queues, placed = [("orders", 0), ("payments", 1)], np.array(exact, EXACT)
    return Hole(0, stop, TIME, closes=closes), Lost(queues, placed, loose, [9, 9], placed[:0], [])


@sampled(400)
@given(holes())
def test_every_byte_of_a_hole_is_a_record_or_a_blank(drawn: tuple[Hole, Lost]) -> None:
    hole, lost = drawn
    shape = LogShape(1 << 20, 0, 1 << 20, {}, [hole], has_junk=False)
    try:
        filling = filled(shape, lost, 0, {})
        pieces = list(content_of(hole, filling, lost))
    except nr.RepairError as error:
        if "have no room for" not in str(error):
            raise
        return
    at, placed = 0, []
    for offset, content in pieces:
        assert offset == at
        record = plain_record_at(content, offset, 0)
        if record is None:
            assert hole.closes
            assert content == (hole.stop - at).to_bytes(4, "big") + b"\xcb\xd4\x31\x94"
            at = hole.stop
            break
        (row,) = rows_of(record)
        placed += [] if row["kind"] == "rollback" else [(row["topic"], row["queue_offset"])]
        at += len(content)
    assert at == hole.stop
    wanted = [("orders", slot) for slot in range(len(lost.exact))] + [("payments", n) for each in lost.loose for n in range(each.stop)]
    assert sorted(placed) == sorted(wanted)
