"""A stream's offsets as text, for people, for Spark, and for other versions."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.growing import Disk, GrowingStore
from support.micro_batches import Query, at_once, offsets_of
from support.tune import Tune

from native_reader.log.boundary import Boundary, Fingerprint
from native_reader.stream.offset import Batch, Offset, OffsetError, ends_from_json, ends_to_json, from_json, to_json
from rmqstore_spark.lag import lags

LAST = Fingerprint(512, 1_700_000_000_123, 77)
OFFSET = {"file:///b": Batch(7, Boundary(7)), "file:///a": Batch(0, Boundary(768, LAST))}
AGAIN = "To start over, use a new checkpointLocation; set starting_offsets or starting_physical_offset to choose where the new query begins"


def test_an_offset_is_readable() -> None:
    assert json.dumps(to_json(OFFSET)) == (
        '{"checksum": 3951554038, '
        '"stores": {"file:///a": {"from": 0, "last": {"crc": 77, "offset": 512, "stored": "2023-11-14T22:13:20.123Z"}, "next": 768}, '
        '"file:///b": {"from": 7, "last": null, "next": 7}}, "version": 2}'
    )


def test_the_lag_after_a_clock_that_stepped_back() -> None:
    newest = {"file:///a": Boundary(868, Fingerprint(768, LAST.stored - 5000, 1))}
    read = to_json({"file:///a": OFFSET["file:///a"]})
    source = SimpleNamespace(endOffset=json.dumps(read), latestOffset=json.dumps(ends_to_json(newest)), numInputRows=384)
    progress: Any = SimpleNamespace(sources=[source])
    assert [str(each) for each in lags(progress)] == ["file:///a: 100 bytes behind, 0.0 s, about 50 rows"]


def test_the_checksum_covers_the_other_members_as_json_with_sorted_keys() -> None:
    said = to_json(OFFSET)
    checksum = said.pop("checksum")
    assert checksum == zlib.crc32(json.dumps(said, sort_keys=True).encode())


places = st.integers(0, 2**63 - 1)
lasts = st.tuples(places, st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1))


@st.composite
def offsets(draw: st.DrawFn) -> Offset:
    """Any offset that a stream can reach."""

    def batch() -> Batch:
        last = draw(st.none() | lasts)
        stop = draw(st.integers(0 if last is None else min(last[0], 2**63 - 2) + 1, 2**63 - 1))
        return Batch(draw(st.integers(0, stop)), Boundary(stop, last and Fingerprint(min(last[0], 2**63 - 2), *last[1:])))

    return {uri: batch() for uri in draw(st.sets(st.text(max_size=9)))}


@given(offsets())
@sampled(50)
def test_an_offset_survives_conversion_to_text(offset: Offset) -> None:
    text = json.dumps(to_json(offset))
    assert from_json(json.loads(text)) == offset
    assert json.dumps(to_json(from_json(json.loads(text)))) == text
    assert json.dumps(json.loads(text), sort_keys=True) == text  # Spark compares offsets as text
    assert from_json(json.loads(json.dumps(json.loads(text), sort_keys=True, indent=2, ensure_ascii=False))) == offset
    ends = {uri: batch.end for uri, batch in offset.items()}
    assert ends_from_json(json.loads(json.dumps(ends_to_json(ends)))) == ends


@given(offsets(), st.data())
@sampled(100)
def test_an_offset_with_a_changed_digit_is_rejected(offset: Offset, data: st.DataObject) -> None:
    text = json.dumps(to_json(offset))
    places = [match.start() for match in re.finditer(r"\d", text)]
    at = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from([each for each in "0123456789" if each != text[at]]))
    try:
        changed = json.loads(text[:at] + digit + text[at + 1 :])
    except ValueError:
        return
    if changed != json.loads(text):
        with pytest.raises(OffsetError):
            from_json(changed)


def signed(said: dict[str, Any]) -> dict[str, Any]:
    """With the right checksum, as after a fault in this package."""
    rest = {name: value for name, value in said.items() if name != "checksum"}
    return {"checksum": zlib.crc32(json.dumps(rest, sort_keys=True).encode()), **rest}


def with_(**members: Any) -> dict[str, Any]:
    said = to_json({"a": Batch(0, Boundary(768, LAST))})
    said["stores"]["a"].update(members)
    return signed(said)


def last(**members: Any) -> dict[str, Any]:
    return with_(last={"crc": 77, "offset": 512, "stored": "2023-11-14T22:13:20.123Z"} | members)


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


ANY_OFFSET = "expected an integer from 0 to 9223372036854775807, found"
CONTRADICTORY: dict[str, tuple[Any, str]] = {
    "next before last": (with_(next=100), "stores['a'].next: expected more than 512, where the last record begins, found 100"),
    "next at last": (with_(next=512), "stores['a'].next: expected more than 512, where the last record begins, found 512"),
    "from after next": (with_(**{"from": 769}), "stores['a'].from: expected at most 768, as in next, found 769"),
    "next negative": (with_(next=-1), f"stores['a'].next: {ANY_OFFSET} -1"),
    "next too large": (with_(next=2**63), f"stores['a'].next: {ANY_OFFSET} 9223372036854775808"),
    "next no whole number": (with_(next=768.0), f"stores['a'].next: {ANY_OFFSET} 768.0"),
    "next a truth": (with_(next=True), f"stores['a'].next: {ANY_OFFSET} True"),
    "next text": (with_(next="768"), f"stores['a'].next: {ANY_OFFSET} '768'"),
    "from negative": (with_(**{"from": -1}), f"stores['a'].from: {ANY_OFFSET} -1"),
    "last text": (with_(last="x"), "stores['a'].last: expected the members crc, offset, stored, found 'x'"),
    "last unknown member": (last(x=1), "stores['a'].last: expected the members crc, offset, stored, found ['crc', 'offset', '"),
    "last offset negative": (last(offset=-5), f"stores['a'].last.offset: {ANY_OFFSET} -5"),
    "crc text": (last(crc="77"), "stores['a'].last.crc: expected an integer from -2147483648 to 2147483647, found '77'"),
    "stored text": (last(stored="now"), "stores['a'].last.stored: expected a time such as 2026-01-31T12:00:00.000Z, found 'now'"),
    "stored without zone": (last(stored="2026-01-05T08:00:00"), "stores['a'].last.stored: expected a time such as"),
    "stored too large": (last(stored=10**30), "stores['a'].last.stored: expected an integer from -9223372036854775808 to"),
    "unknown member of a store": (with_(x=1), "stores['a']: expected the members from, last, next, found ['from', 'last', '"),
    "member missing": (signed({"stores": {"a": {"next": 1, "from": 0}}, "version": 2}), "stores['a']: expected the members from, last,"),
    "a store is a list": (signed({"stores": {"a": [1]}, "version": 2}), "stores['a']: expected the members from, last, next, found [1]"),
    "stores a list": (signed({"stores": [1], "version": 2}), "stores: expected an object, found [1]"),
    "stores null": (signed({"stores": None, "version": 2}), "stores: expected an object, found None"),
    "stores missing": ({"checksum": 1, "version": 2}, "the offset: expected the members checksum, stores, version, found ['checks"),
    "unknown member": (signed({"stores": {}, "version": 2, "x": 1}), "the offset: expected the members checksum, stores, version, found "),
    "nested": (signed({"stores": {"a": nested(500)}, "version": 2}), "stores['a']: expected the members from, last, next, found [[[[["),
}  # fmt: skip


@pytest.mark.parametrize("what", CONTRADICTORY)
def test_an_offset_whose_members_contradict_each_other_is_rejected(what: str) -> None:
    said, expected = CONTRADICTORY[what]
    with pytest.raises(OffsetError) as raised:
        from_json(said)
    assert str(raised.value).startswith(f"an offset in the checkpoint was changed after it was written. {expected}")
    assert str(raised.value).endswith(f". Restore the checkpoint from a copy. {AGAIN}")
    assert len(str(raised.value)) < 500


def test_an_offset_with_a_wrong_checksum_is_rejected() -> None:
    said = to_json(OFFSET)
    checksum = said["checksum"]
    for wrong in (checksum ^ 1, str(checksum), None, True):
        with pytest.raises(OffsetError) as raised:
            from_json(said | {"checksum": wrong})
        assert f" checksum: expected that of the other members, found {wrong!r}. Restore the checkpoint" in str(raised.value)
        assert str(checksum) not in str(raised.value).replace(repr(wrong), "")  # or somebody would put it there


OTHERS = {
    "newer": (
        {"stores": {}, "version": 3},
        "was written by a newer rmqstore-spark: its offsets have version 3, this version reads 2. Install ",
    ),
    "older": (
        {"stores": {}, "version": 1},
        "was written before the first release: its offsets have version 1, without a checksum. To start",
    ),
    "no version": ({"stores": {}}, "does not contain an offset of rmqstore-spark: expected version 2, found None. To start"),
    "version 0": (
        {"stores": {}, "version": 0},
        "does not contain an offset of rmqstore-spark: expected version 2, found 0. To start",
    ),
    "version 2.0": (
        to_json({}) | {"version": 2.0},
        "does not contain an offset of rmqstore-spark: expected version 2, found 2.0. To start",
    ),
    "version true": (
        {"stores": {}, "version": True},
        "does not contain an offset of rmqstore-spark: expected version 2, found True. To start",
    ),
    "a number": (17, "does not contain an offset of rmqstore-spark: expected version 2, found None. To start"),
    "Kafka's": ({"orders": {"0": 5}}, "does not contain an offset of rmqstore-spark: expected version 2, found None. To start"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_an_offset_of_another_source(what: str) -> None:
    said, expected = OTHERS[what]
    with pytest.raises(OffsetError) as raised:
        from_json(said)
    assert str(raised.value).startswith(f"the checkpoint {expected}")
    assert str(raised.value).endswith(AGAIN)


# In a query


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> list[str]:
    return at_once(monkeypatch, tune)


def tampered(query: Query, change: Callable[[dict[str, Any]], None]) -> str:
    """The error of a query that continues from an edited checkpoint."""
    kept = list(query.offsets)
    said = json.loads(query.offsets[-1])
    change(said)
    query.offsets[-1] = json.dumps(said)
    query.start()
    with pytest.raises(OffsetError) as raised:
        query.trigger()
    query.offsets = kept
    return str(raised.value)


def emptied(said: dict[str, Any]) -> None:
    said["stores"] = {}


def test_an_edited_checkpoint_gives_no_rows_twice(disk: Disk, grown: GrowingStore, announced: list[str]) -> None:
    """With `next` before `last`, 250 rows came twice. With `stores` empty, all rows came twice."""
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest"})
    query.start()
    query.trigger()
    grown.append(3)
    uri, first = f"{disk.url}/store", grown.placed[4].offset

    def back(said: dict[str, Any]) -> None:
        said["stores"][uri]["next"] = first

    def back_whole(said: dict[str, Any]) -> None:
        said["stores"][uri] |= {"from": 0, "next": first, "last": None}

    def on(said: dict[str, Any]) -> None:
        said["stores"][uri]["next"] = grown.placed[-1].offset

    assert f"stores['{uri}'].next: expected more than " in tampered(query, back)
    for change in (back_whole, on, emptied):
        assert "checksum: expected " in tampered(query, change)
    query.start()
    query.trigger()
    assert offsets_of(query) == [each.offset for each in grown.placed]


def test_an_offset_without_stores_reads_each_store_from_its_beginning(disk: Disk, grown: GrowingStore, announced: list[str]) -> None:
    """Like the offset of a directory that had no stores yet."""
    query = Query(f"{disk.url}/store", {}, offsets=[json.dumps(to_json({}))], commits=1)
    query.start()
    query.trigger()
    assert offsets_of(query) == [each.offset for each in grown.placed]
