"""What a check takes from each record, compared with the exact parser of properties and with Java's hash."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.kernels import VARIABLE, same_marks
from support.plain_decoder import units_of

from native_reader import kernel
from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.properties import parse
from native_reader.layout.record import COMPRESSED, INNER_BATCH, Records, measure
from native_reader.testing import strategies as drawn
from native_reader.testing.java import hash_code, index_hash
from native_reader.testing.records import Message, encode
from native_reader.verify.marks import NOT_PACKED, ODD_PROPERTIES, PACKED, Marks, NumpyMarker


def is_taken_by_zlib(begin: bytes) -> bool:
    """Whether zlib takes this as the begin of a stream, and asks for no dictionary."""
    inflater = zlib.decompressobj()
    try:
        inflater.decompress(begin)
    except zlib.error:
        return False
    return not begin[1] & 0x20


ZLIB = tuple(
    begin
    for first, second in product(range(256), repeat=2)
    if first % 16 == 8 and is_taken_by_zlib(bytes((first, second)))
    for begin in (bytes((first, second, third)) for third in range(256))
    if is_taken_by_zlib(begin)
)
"""Begins of streams."""


def records_of(messages: Sequence[Message]) -> tuple[PaddedBuffer, Records]:
    content, starts = b"", []
    for message in messages:
        starts.append(len(content))
        content += encode(message, len(content))
    source = PaddedBuffer.of(content)
    records, valid = measure(source.u8, len(content), np.array(starts, np.intp), 0)
    assert valid.all()
    return source, records


def expected(source: PaddedBuffer, records: Records) -> dict[str, list[Any]]:
    """The same, record by record."""
    marks: dict[str, list[Any]] = {name: [] for name in Marks._fields}
    for row in range(len(records)):
        head = records.heads[row]
        at, size = records.topic_at[row], records.topic_size[row]
        topic = source.u8[at : at + size].tobytes()
        at, size = records.properties_at[row], records.properties_size[row]
        field, name = source.u8[at : at + size].tobytes(), topic.decode("utf-8", "replace")
        properties = parse(field)
        at, size = records.body_at[row], records.body_size[row]
        body = source.u8[at : at + size].tobytes()
        tag = properties.get("TAGS", "")
        values = {
            "offset": head["physical_offset"],
            "queue_offset": head["queue_offset"],
            "time": head["store_timestamp"],
            "size": head["size"],
            "place": numbered(marks["places"], (topic, int(head["queue_id"]))),
            "tag": hash_code(tag),
            "tag_key": index_hash(name, f"T#{tag}"),
            "flags": head["sys_flag"],
            "delayed": "DELAY" in properties,
            "messages": messages_in(properties, int(head["sys_flag"]), body),
            "doubts": doubts_in(field, int(head["sys_flag"]), body),
        }
        for field, value in values.items():
            marks[field].append(int(value))
        keys = [properties.get("UNIQ_KEY", ""), *properties.get("KEYS", "").split(" ")]
        for key in filter(None, keys):
            marks["key_row"].append(row)
            marks["key"].append(index_hash(name, key))
            marks["key_alone"].append(abs(hash_code(key)) % 2**31)
        numbers = properties.get("INNER_MULTI_QUEUE_OFFSET", "").split(",")
        for which, queue in enumerate(properties.get("INNER_MULTI_DISPATCH", "").split(",")):
            if queue:
                marks["light_row"].append(row)
                marks["light"].append(numbered(marks["light_queues"], queue))
                marks["light_number"].append(number_in(numbers[which], 18) if which < len(numbers) else -1)
    return marks


def numbered(known: list[Any], name: object) -> int:
    if name not in known:
        known.append(name)
    return known.index(name)


def messages_in(properties: dict[str, str], flags: int, body: bytes) -> int:
    if not flags & INNER_BATCH:
        return 1
    stated = number_in(properties.get("INNER_NUM", ""), 5)
    units = None if flags & COMPRESSED else units_of(body)
    return len(units) if stated < 0 and units else stated


def doubts_in(properties: bytes, flags: int, body: bytes) -> int:
    kind, is_packed = flags >> 8 & 7, flags & COMPRESSED
    magics: tuple[bytes, ...] = {1: (b"\x04\x22\x4d\x18",), 2: (b"\x28\xb5\x2f\xfd",)}.get(kind, ())
    if kind in {0, 3}:
        magics = (b"\x1f\x8b\x08", *ZLIB)
    begins = len(body) > 4 and body.startswith(magics)
    doubts = NOT_PACKED if is_packed and body and not begins else PACKED if not is_packed and kind and begins else 0
    try:
        return doubts | ODD_PROPERTIES * properties.decode().endswith("\0")
    except UnicodeDecodeError:
        return doubts | ODD_PROPERTIES


def number_in(text: str, most: int) -> int:
    return int(text) if re.fullmatch("[0-9]+", text) and len(text) <= most else -1


def listed(marks: Marks) -> dict[str, list[Any]]:
    """As plain Python. Names of light queues that are not UTF-8 are numbered as bytes, and so may be equal as text."""
    plain = {name: each if isinstance(each, list) else each.tolist() for name, each in marks._asdict().items()}
    texts = [name.decode("utf-8", "replace") for name in marks.light_queues]
    names = list(dict.fromkeys(texts))
    return plain | {"light_queues": names, "light": [names.index(texts[each]) for each in plain["light"]]}


def same(messages: Sequence[Message]) -> None:
    source, records = records_of(messages)
    marker = NumpyMarker()
    marker.add(source.u8, records)
    assert listed(marker.taken()) == expected(source, records)


@pytest.mark.sweep
@sampled(1000)
@given(st.lists(drawn.messages(), min_size=1, max_size=8))
def test_marks_are_those_of_the_exact_parser(messages: Sequence[Message]) -> None:
    same(messages)


@pytest.mark.sweep
@sampled(200)
@given(st.lists(drawn.messages(), min_size=1, max_size=8), st.integers(1, 8))
def test_chunks_are_added_to_those_before(messages: Sequence[Message], at: int) -> None:
    source, records = records_of(messages)
    marker = NumpyMarker()
    for chunk in (records[:at], records[at:]):
        if len(chunk):
            marker.add(source.u8, chunk)
    assert listed(marker.taken()) == expected(source, records)
    assert not any(len(each) for each in marker.taken())
    marker.add(source.u8, records)
    again = marker.taken()
    assert again.places == []
    assert again.place.tolist() == expected(source, records)["place"]


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(1000)
@given(st.lists(drawn.messages(), min_size=1, max_size=8), st.integers(1, 8))
def test_the_kernel_makes_the_same_marks(messages: Sequence[Message], at: int) -> None:
    source, records = records_of(messages)
    marks = same_marks(source.u8, [chunk for chunk in (records[:at], records[at:]) if len(chunk)])
    assert listed(marks) == expected(source, records)


@pytest.mark.kernel
def test_the_kernel_forgets_what_was_taken_but_not_the_places() -> None:
    messages = [Message(topic=f"t{number % 3}", queue_id=number % 5) for number in range(30)]
    source, records = records_of(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kernel.COMPILED)
        marker = kernel.marker()
    assert marker is not None
    held = [marker.add(source.u8, records), marker.add(source.u8, records)]
    first = Marks._make(marker.taken())
    assert held == [30, 60]
    assert first.places == [(f"t{number % 3}".encode(), number % 5) for number in range(15)]
    assert not any(len(each) for each in marker.taken())
    assert marker.add(source.u8, records) == 30
    again = Marks._make(marker.taken())
    assert again.places == []
    assert again.place.tolist() == first.place.tolist()[30:]


@pytest.mark.parametrize("crc", ["", "proper", "glued"])
@pytest.mark.parametrize(
    "properties",
    [
        b"",
        b"UNIQ_KEY\x01",
        b"UNIQ_KEY\x01a",
        b"UNIQ_KEYS\x01a\x02XUNIQ_KEY\x01b\x02UNIQ_KEY\x02",
        b"TAGS\x01one\x02TAGS\x01two\x02TAGS\x01\x02",
        b"KEYS\x01a b\x02KEYS\x01c",
        b"KEYS\x01 a  \xc3\xa4\xff a \x02TAGS\x01\xe4\xb8\xbb\x02",
        b"TAGS\x01a\x01b\x02KEYS\x01\x01\x02",
        b"INNER_MULTI_DISPATCH\x01%LMQ%a\x02DELAY\x013",
        b"INNER_MULTI_DISPATCHED\x01a\x02INNER_MULTI_DISPATC\x01b\x02INNER_MUXTI_DISPATCH\x01c\x02DELAYS\x013\x02",
        b"INNER_MULTI_DISPATCH\x01\x02INNER_MULTI_",
        b"INNER_MULTI_DISPATCH\x01a,,b,a,c,d\x02INNER_MULTI_QUEUE_OFFSET\x017,8,,x,123456789012345678\x02",
        b"INNER_MULTI_QUEUE_OFFSET\x011,1234567890123456789\x02INNER_MULTI_DISPATCH\x01\xff,\xfe,",
        b"INNER_NUM\x0112345",
        b"INNER_NUM\x01123456\x02",
        b"INNER_NUM\x01\xd9\xa3\x02",
        b"INNER_NUM\x011_0\x02INNER_NUM\x01 1\x02",
        b"\0TAGS\x01a\x02TAGS\x01b\0c",
    ],
)
@pytest.mark.parametrize("sys_flag", [0, INNER_BATCH])
def test_marks_of_odd_properties(properties: bytes, crc: str, sys_flag: int) -> None:
    one = Message(topic="topic", properties=properties, property_crc=crc, sys_flag=sys_flag)  # type: ignore[arg-type]
    same([one])
    same([Message(properties=b"TAGS\x01x"), one, Message(topic=b"\xff", properties=b"KEYS\x01x"), one])


PLAIN = {
    "the bit of a preset dictionary": b"x\xbband plain text",
    "a window larger than any": b"\x88\x1cand plain text",
    "no first block": b"x\x9c\x06and plain text",
    "no gzip": b"\x1f\x8band plain text",
}


@pytest.mark.parametrize("body", PLAIN.values(), ids=PLAIN.keys())
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.kernel)])
def test_a_plain_body_whose_first_bytes_are_those_of_no_stream_was_taken_for_packed(body: bytes, *, compiled: bool) -> None:
    """A client reads an empty body, or fails. zlib itself refuses each."""
    with pytest.raises(zlib.error):
        zlib.decompress(body, wbits=47)
    source, records = records_of([Message(body=body, sys_flag=COMPRESSED), Message(body=zlib.compress(body), sys_flag=COMPRESSED)])
    if compiled:
        found = same_marks(source.u8, [records])
    else:
        marker = NumpyMarker()
        marker.add(source.u8, records)
        found = marker.taken()
    assert found.doubts.tolist() == [NOT_PACKED, 0]
