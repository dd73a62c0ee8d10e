"""The strategies draw all the cases they promise, and the plain decoder reads every record that they placed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from support.plain_decoder import V2, record_at, walk

from native_reader.testing.logs import CommitLog, name
from native_reader.testing.records import Message, body_position, encode, forge
from native_reader.testing.strategies import DrawnLog, commitlogs, damaged_logs


@pytest.mark.long
@settings(max_examples=150)
@given(commitlogs())
def test_placed_records_are_read(log: DrawnLog) -> None:
    read = walk(log.segments, log.framing)
    offsets = [placed.offset for placed in log.placed]
    seen = list(dict.fromkeys(row["physical_offset"] for row in read.rows))
    assert seen in (offsets, offsets[:-1])  # the last one counts only if it is whole
    assert read.damage == []
    for placed in log.placed:
        data = dict(log.segments)[placed.segment]
        at = placed.offset - placed.segment
        assert data[at : at + placed.size] == encode(placed.message, placed.offset)


@settings(max_examples=40)
@given(commitlogs())
def test_full_segments_end_in_a_blank(log: DrawnLog) -> None:
    for (base, data), (following, _) in zip(log.segments, log.segments[1:], strict=False):
        assert following == base + log.segment_size
        assert len(data) == log.segment_size
    assert all(base % log.segment_size == 0 for base, _ in log.segments)


@settings(max_examples=40)
@given(damaged_logs())
def test_damaged_logs_are_still_logs(log: DrawnLog) -> None:
    assert [base for base, _ in log.segments] == sorted(base for base, _ in log.segments)
    assert all(len(data) <= log.segment_size for _, data in log.segments)
    accounts = walk(log.segments, log.framing).segments
    assert [sum(account[1:]) for account in accounts] == [len(data) for _, data in log.segments]


@pytest.mark.long
def test_rare_cases_are_drawn() -> None:
    """What a seed draws also depends on the constants of the modules that are loaded, so on the tests before this one."""
    seen: set[str] = set()

    @settings(max_examples=250, database=None)
    @given(commitlogs())
    def look(log: DrawnLog) -> None:
        seen.update(oddities(log))

    rare = {
        "IPv6 born host only", "IPv6 store host only", "V2 topic", "glued CRC", "packed inner batch", "magic in a body", "far future",
        "no property separator", "dledger, rolled", "expired", "unused segment", "cut tail", "dirt after a blank", "dirty tail",
    }  # fmt: skip
    for number in range(8):
        seed(number)(look)()
        if seen >= rare:
            break
    assert seen == rare


def oddities(log: DrawnLog) -> Iterator[str]:
    bases = [base for base, _ in log.segments]
    end = max((placed.offset + placed.size for placed in log.placed), default=0)
    for message in (placed.message for placed in log.placed):
        lengths = len(message.born_host[0]), len(message.store_host[0])
        for name_of, holds in (
            ("IPv6 born host only", lengths == (16, 4)),
            ("IPv6 store host only", lengths == (4, 16)),
            ("V2 topic", len(message.topic_bytes) > 127 and message.version == 2),
            ("glued CRC", message.property_crc == "glued" and not message.properties.endswith(b"\x02")),
            ("packed inner batch", message.sys_flag & 0x81 == 0x81),
            ("magic in a body", b"\xda\xa3\x20\xa7" in message.body),
            ("far future", message.store_timestamp == 2**62),
            ("no property separator", b"\x01" in message.properties and not message.properties.endswith(b"\x02")),
        ):
            if holds:
                yield name_of
    if log.framing == "dledger" and len({placed.segment for placed in log.placed}) > 1:
        yield "dledger, rolled"
    if bases and bases[0] > 0:
        yield "expired"
    for base, data in log.segments:
        if base >= end and log.placed and len(data) == log.segment_size and not any(data):
            yield "unused segment"
        if base < end <= base + log.segment_size and end == base + len(data):
            yield "cut tail"
        if base < end <= base + log.segment_size and log.framing == "plain" and any(data[end - base :]):
            sealed = data[end - base + 4 : end - base + 8] == b"\xcb\xd4\x31\x94"
            yield "dirt after a blank" if sealed and any(data[end - base + 8 :]) else "dirty tail"
        for placed in log.placed:
            if placed.segment == base and log.framing == "plain":
                at = placed.offset + placed.size - base
                if data[at + 4 : at + 8] == b"\xcb\xd4\x31\x94" and any(data[at + 8 :]):
                    yield "dirt after a blank"


def test_a_forgery_names_its_own_position() -> None:
    carrier = forge(Message(body=b"before"), Message(topic="forged", version=2, body=b"inner"), 4096)
    record = encode(carrier, 4096)
    forged = record_at(record, 4096, body_position(carrier) + 6, "plain")
    assert forged
    assert (forged.topic, forged.fixed["magic"]) == (b"forged", V2)


@given(st.integers(90, 200), st.integers(0, 3))
def test_a_record_needs_room_for_a_blank(body: int, start: int) -> None:
    size = len(encode(Message(body=bytes(body))))
    for room, same in ((size + 8, True), (size + 7, False)):
        log = CommitLog(size + room, start * 1000)
        log.append(Message(body=bytes(body)))
        log.append(Message(body=bytes(body)))
        assert (len(log.files()) == 1) is same
        assert min(log.files()) == name(start * 1000)
