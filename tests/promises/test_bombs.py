"""Valid records made to cost much memory or time: the cost is bounded, and proportional to their bytes."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compare import InMemory, Segments, expected_rows, rows_of, same, segments_of, table_of
from support.plain_decoder import units_of as plain_units
from support.plain_decoder import walk
from support.tune import Tune

from native_reader.columns import chunk as scan_chunk
from native_reader.columns import makers as scan_makers
from native_reader.columns import properties as scan_properties
from native_reader.columns import properties as scan_tokens
from native_reader.columns import rows as scan_rows
from native_reader.columns.strings import PaddedBuffer, decoded
from native_reader.layout.inner import SMALLEST_UNIT, units_of
from native_reader.layout.properties import parse
from native_reader.layout.record import PADDING
from native_reader.testing.compression import COMPRESSED
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties


def batch_of(count: int, topic: str = "t", *, properties: bytes = b"", compressed: bool = True) -> Message:
    body = pack_inner([InnerMessage(body=b"", properties=properties)] * count)
    flags = INNER_BATCH | (COMPRESSED if compressed else 0)
    return Message(topic=topic, body=zlib.compress(body) if compressed else body, sys_flag=flags, version=2 if len(topic) > 127 else 1)


def batches_of(segments: Segments, **options: Any) -> list[pa.RecordBatch]:
    store = InMemory(segments)
    return list(store.messages(**options).to_batches())


def rows(batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("compressed", [True, False])
def test_an_inner_batch_under_a_long_topic_comes_in_batches_that_fit(tune: Tune, compressed: bool) -> None:
    segments = segments_of(Message(topic="a", body=b"a"), batch_of(900, "T" * 3000, compressed=compressed), Message(topic="z", body=b"z"))
    tune(unpacked_at_once=200_000)
    found = batches_of(segments, columns="topic,kind,inner_index,physical_offset")
    assert max(batch.nbytes for batch in found) < 300_000
    assert len(found) < 30
    assert pa.Table.from_batches(found)["inner_index"].to_pylist() == [None, *range(900), None]
    everything = pa.Table.from_batches(batches_of(segments, columns="*"))
    expected = expected_rows(walk(segments))
    assert [{name: row[name] for name in expected[0]} for row in rows_of(everything)] == expected


@pytest.mark.usefixtures("by_numpy")
def test_a_condition_on_messages_builds_no_column_of_a_long_topic(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    sizes: list[int] = []

    def topic(chunk: scan_chunk.Chunk) -> pa.Array:
        column = original(chunk)
        sizes.append(column.nbytes)
        return column

    original = scan_chunk.Chunk.topic
    monkeypatch.setattr(scan_chunk.Chunk, "topic", topic)
    tune(unpacked_at_once=200_000)
    where = "topic LIKE 'U%' OR inner_index = 7"
    assert len(table_of(segments_of(batch_of(900, "T" * 3000)), columns="physical_offset", where=where)) == 1
    assert sizes
    assert max(sizes) < 300_000


@pytest.mark.usefixtures("by_numpy")
def test_a_kind_is_decided_once_for_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, characters = Counter[str](), 0

    def kind_of(topic: str | None, flags: int) -> str:
        calls[topic or ""] += 1
        return original(topic, flags)

    def text(column: pa.Array) -> pa.Array:
        nonlocal characters
        characters += column.nbytes
        return original_text(column)

    original, original_text = scan_makers.kind_of, scan_chunk.text
    monkeypatch.setattr(scan_makers, "kind_of", kind_of)
    monkeypatch.setattr(scan_chunk, "text", text)
    retry = "%RETRY%" + "T" * 3000
    segments = segments_of(batch_of(500, "b"), Message(topic="a", body=b""), batch_of(400, retry), batch_of(1, "%DLQ%a"))
    assert Counter(table_of(segments, columns="kind")["kind"].to_pylist()) == {"batch": 500, "normal": 1, "retry": 400, "dlq": 1}
    assert set(calls.values()) == {1}
    assert characters < 2 * len(retry)


def test_compressed_inner_batches_are_unpacked_one_after_another(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    unpacked: list[int] = []

    def decompress(stored: bytes, flags: int, at_most: int) -> bytes | None:
        body = original(stored, flags, at_most)
        unpacked.append(len(body or b""))
        return body

    original = scan_rows.decompress
    monkeypatch.setattr(scan_rows, "decompress", decompress)
    tune(decompressed_at_once=5000)
    segments = segments_of(*(batch_of(100) for _ in range(20)))
    store = InMemory(segments)
    held = []
    for batch in store.messages(columns="inner_index").to_batches():
        held.append(sum(unpacked))
        unpacked.clear()
        assert len(batch) % 100 == 0
    assert len(held) > 5
    assert max(held) < 5000 + 100 * SMALLEST_UNIT


@pytest.mark.parametrize("options", [{}, {"topic": "b"}, {"topic": "t"}, {"where": "topic = 'b' AND physical_offset > 200"}])
def test_a_count_has_the_messages_of_batches(options: dict[str, str]) -> None:
    whole = batch_of(100, "b", compressed=False)
    messages = [Message(topic="t", body=b"a"), whole, batch_of(50, "b"), replace(whole, body=whole.body[:-1])]
    store = InMemory(segments_of(*messages))
    scan = store.messages(**options)
    assert scan.count_rows() == scan.to_table().num_rows > 0


def test_a_batch_of_the_smallest_messages_is_cut(tune: Tune) -> None:
    tune(unpacked_at_once=1 << 18)
    sizes = [len(batch) for batch in batches_of(segments_of(batch_of(3000)), columns="queue_offset")]
    assert sum(sizes) == 3000
    assert max(sizes) <= (1 << 18) // 512 + 1
    with_properties = [len(batch) for batch in batches_of(segments_of(batch_of(3000, properties=b"a\x01b\x02" * 50)), columns="tags")]
    assert sum(with_properties) == 3000
    assert max(with_properties) < max(sizes) / 2


def test_damage_keeps_its_place_among_the_pieces_of_a_chunk(tune: Tune) -> None:
    messages = [batch_of(40, compressed=i % 3 > 0) if i % 2 else Message(topic="t", body=b"%d" % i) for i in range(30)]
    (segment,) = segments_of(*messages)
    base, content = segment
    places = sorted({row["physical_offset"] for row in rows(batches_of([segment], columns="physical_offset"))})
    broken = bytearray(content)
    for place in (places[5], places[11], places[12], places[29]):
        broken[place + 4] ^= 0xFF
    wanted = {"columns": "physical_offset,inner_index,topic,corrupt_reason", "mode": "PERMISSIVE"}
    whole = batches_of([(base, bytes(broken))], **wanted)
    tune(unpacked_at_once=5000, decompressed_at_once=2000)
    pieces = batches_of([(base, bytes(broken))], **wanted)
    assert len(pieces) > len(whole) + 50
    assert rows(pieces) == rows(whole)
    at = [row["physical_offset"] for row in rows(pieces)]
    assert at == sorted(at)
    assert {places[5], places[11]} <= {row["physical_offset"] for row in rows(pieces) if row["corrupt_reason"]}


@given(st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5)), min_size=1, max_size=6), st.data())
def test_units_add_up_or_there_are_none(messages: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    body = bytearray(pack_inner([InnerMessage(body=body, properties=properties) for body, properties in messages]))
    if data.draw(st.booleans()):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.sampled_from([0, 1, 22, 0x7F, 0x80, 0xFF]))
    found = units_of(np.frombuffer(bytes(body), np.uint8))
    expected = plain_units(bytes(body))
    assert (None if found is None else len(found)) == (None if not expected else len(expected))


class _Counted:
    """A name that counts how often it is hashed and compared."""

    work = 0

    def __init__(self, name: bytes) -> None:
        self.name = name

    def __hash__(self) -> int:
        _Counted.work += 1
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        _Counted.work += 1
        return self.name == (other.name if isinstance(other, _Counted) else other)


class _CountedText(bytes):
    def __getitem__(self, place: Any) -> Any:
        return _Counted(bytes(self)[place])


def test_a_shape_of_many_names_is_learned_in_linear_time() -> None:
    def work(count: int) -> int:
        names = [b"%06d" % i for i in range(count)]
        gaps = np.full(count, 7, np.int32).tobytes()
        _Counted.work = 0
        shape = scan_properties.Shape.of(_CountedText(b"".join(names)), gaps, (b"TAGS", names[1]))
        assert shape.places == (-1, 1)
        assert not shape.repeats
        return _Counted.work

    assert 0 < work(2000) <= 2.5 * work(1000) <= 25_000


@pytest.mark.usefixtures("by_numpy")
def test_names_that_never_repeat_are_looked_at_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0

    def counted(text: bytes, gaps: bytes, wanted: tuple[bytes, ...]) -> scan_properties.Shape:
        nonlocal seen
        seen += len(text)
        return original(text, gaps, wanted)

    original = scan_properties.Shape.of
    monkeypatch.setattr(scan_properties.Shape, "of", counted)

    def work(count: int) -> int:
        nonlocal seen
        seen = 0
        messages = [Message(topic="t", body=b"", properties=pack_properties([(f"n{i}", "v"), ("TAGS", "x")])) for i in range(count)]
        assert table_of(segments_of(*messages, size=1 << 20), columns="tags,properties")["tags"].to_pylist() == ["x"] * count
        return seen

    assert 0 < work(800) <= 2.5 * work(400)


BAD = [b"\xff", b"\xe4", b"\xe4\xb8", b"\xf0\x9f\x98", b"\x80", b"\xbf\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"]
_PIECES = st.sampled_from([*BAD, b"\x00", b"\x00\x00", b"a", b"", "\u4e2d\U0001f600".encode(), "\ufffd".encode()])
_VALUES = st.one_of(st.binary(max_size=6), st.lists(_PIECES, max_size=4).map(b"".join))


@given(st.lists(_VALUES, max_size=12))
def test_decoded_together_as_decoded_alone(values: list[bytes]) -> None:
    assert decoded(pa.array(values, pa.binary())).to_pylist() == [value.decode("utf-8", "replace") for value in values]


@given(st.lists(st.lists(st.tuples(_VALUES, _VALUES), max_size=3), min_size=1, max_size=8))
def test_properties_that_are_not_utf8_are_read_as_the_exact_parser_does(fields: list[list[tuple[bytes, bytes]]]) -> None:
    packed = [b"\x02".join(name + b"\x01" + value for name, value in field) for field in fields]
    source, sizes = PaddedBuffer.of(*packed), np.array([len(field) for field in packed])
    found = scan_properties.cut_properties(source, np.cumsum(sizes) - sizes, sizes, ["a"])
    assert len(source.u8) - sizes.sum() == PADDING
    assert [dict(row or ()) for row in found.map().to_pylist()] == [parse(field) for field in packed]
    assert found.single("a").to_pylist() == [parse(field).get("a") for field in packed]


@pytest.mark.usefixtures("by_numpy")
def test_values_that_are_not_utf8_need_no_exact_parser_and_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = parsed = 0

    def counted(column: pa.Array) -> pa.Array:
        nonlocal looked_at
        looked_at += column.nbytes
        return decoded(column)

    def parser(field: bytes) -> dict[str, str]:
        nonlocal parsed
        parsed += 1
        return parse(field)

    monkeypatch.setattr(scan_tokens, "decoded", counted, raising=False)
    monkeypatch.setattr(scan_properties, "parse", parser)

    def work(count: int) -> int:
        nonlocal looked_at
        looked_at = 0
        messages = [Message(topic="t", body=b"", properties=b"TAGS\x01" + BAD[i % len(BAD)] + b"\x02") for i in range(count)]
        tags = table_of(segments_of(*messages, size=1 << 20), columns="tags")["tags"].to_pylist()
        assert tags == [BAD[i % len(BAD)].decode("utf-8", "replace") for i in range(count)]
        return looked_at

    assert 0 < work(2000) <= 2.5 * work(1000)
    assert not parsed


def test_topics_and_properties_that_are_not_utf8_do_not_affect_their_neighbours() -> None:
    """A sequence that is cut off at the end of one field, next to a field that begins with its continuation."""
    fields = [bad + b"\x01" + other for bad in (b"k" + each for each in BAD) for other in BAD]
    same(segments_of(*(Message(topic="t", body=b"", properties=field) for field in [*fields, b"TAGS\x01x\x02", b"\x80\x01\x80"])), "plain")
