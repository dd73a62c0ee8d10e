"""What a check takes from each record, compared with the exact parser of properties and with Java's hash."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.kernels import VARIABLE

from native_reader import kernel
from native_reader.columns.strings import Source
from native_reader.layout.properties import parse
from native_reader.layout.record import INNER_BATCH, Records, measure
from native_reader.testing import strategies as drawn
from native_reader.testing.java import hash_code, index_hash
from native_reader.testing.records import Message, encode
from native_reader.verify.marks import Marks, numpy_marks

FIELDS = ("physical_offset", "size", "queue_id", "queue_offset", "store_timestamp", "sys_flag")


def records_of(messages: Sequence[Message]) -> tuple[Source, Records]:
    content, starts = b"", []
    for message in messages:
        starts.append(len(content))
        content += encode(message, len(content))
    source = Source.of(content)
    records, valid = measure(source.u8, len(content), np.array(starts, np.intp), 0)
    assert valid.all()
    return source, records


def expected(source: Source, records: Records) -> dict[str, list[object]]:
    """The same, record by record."""
    marks: dict[str, list[object]] = {name: [] for name in Marks._fields}
    for name, column in zip(FIELDS, Marks._fields, strict=False):
        marks[column] = records.heads[name].tolist()
    for row in range(len(records)):
        at, size = records.topic_at[row], records.topic_size[row]
        topic = source.u8[at : at + size].tobytes()
        if topic not in marks["names"]:
            marks["names"].append(topic)
        at, size = records.properties_at[row], records.properties_size[row]
        properties, name = parse(source.u8[at : at + size].tobytes()), topic.decode("utf-8", "replace")
        tag = properties.get("TAGS", "")
        marks["topics"].append(marks["names"].index(topic))
        marks["tags"].append(hash_code(tag))
        marks["tag_keys"].append(index_hash(name, f"T#{tag}"))
        marks["delayed"].append(int("DELAY" in properties))
        is_batch = records.heads["sys_flag"][row] & INNER_BATCH
        marks["counts"].append(number_in(properties.get("INNER_NUM", ""), 5) if is_batch else 1)
        numbers = properties.get("INNER_MULTI_QUEUE_OFFSET", "").split(",")
        for place, queue in enumerate(properties.get("INNER_MULTI_DISPATCH", "").split(",")):
            add_light(marks, row, queue, numbers[place] if place < len(numbers) else "")
        keys = [properties.get("UNIQ_KEY", ""), *properties.get("KEYS", "").split(" ")]
        for key in filter(None, keys):
            marks["key_rows"].append(row)
            marks["keys"].append(index_hash(name, key))
    return marks


def add_light(marks: dict[str, list[object]], row: int, queue: str, number: str) -> None:
    if not queue:
        return
    if queue not in marks["light_names"]:
        marks["light_names"].append(queue)
    marks["light_rows"].append(row)
    marks["lights"].append(marks["light_names"].index(queue))
    marks["light_numbers"].append(number_in(number, 18))


def number_in(text: str, most: int) -> int:
    return int(text) if re.fullmatch("[0-9]+", text) and len(text) <= most else -1


def listed(marks: Marks) -> dict[str, list[object]]:
    """As plain Python. Names of queues that are not UTF-8 are numbered as bytes, and so may be equal as text."""
    plain = {name: each if isinstance(each, list) else each.tolist() for name, each in marks._asdict().items()}
    texts = [name.decode("utf-8", "replace") for name in marks.light_names]
    names = list(dict.fromkeys(texts))
    return plain | {"light_names": names, "lights": [names.index(texts[each]) for each in plain["lights"]]}


def same(messages: Sequence[Message]) -> None:
    source, records = records_of(messages)
    assert listed(numpy_marks(source, records)) == expected(source, records)


@pytest.mark.sweep
@sampled(1000)
@given(st.lists(drawn.messages(), min_size=1, max_size=8))
def test_marks_are_those_of_the_exact_parser(messages: Sequence[Message]) -> None:
    same(messages)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(1000)
@given(st.lists(drawn.messages(), min_size=1, max_size=8))
def test_the_kernel_makes_the_same_marks(messages: Sequence[Message]) -> None:
    source, records = records_of(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kernel.COMPILED)
        compiled = kernel.marks(source.u8, records)
    assert compiled is not None
    assert all(each.dtype == np.int64 for each in compiled[:-2])
    assert listed(Marks._make(compiled)) == listed(numpy_marks(source, records))


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
