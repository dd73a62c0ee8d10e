"""A filter and the projection share what they decode: each body is decompressed once, each chunk's properties are cut once."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest
from support.compare import segments_of, table_of

from native_reader.columns import properties, rows
from native_reader.testing.compression import COMPRESSED
from native_reader.testing.records import Message, pack_properties

pytestmark = pytest.mark.usefixtures("by_numpy")
BODIES = [b"body %d" % number for number in range(5)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a body was decompressed, and the properties of a chunk were cut."""
    counted = Counter[str]()
    decompress, tokens_of = rows.decompress, properties.tokens_of

    def counting_decompress(stored: bytes, flags: int, at_most: int) -> bytes | None:
        counted["decompress"] += 1
        return decompress(stored, flags, at_most)

    def counting_tokens_of(*arguments: object) -> object:
        counted["cut"] += 1
        return tokens_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "decompress", counting_decompress)
    monkeypatch.setattr(properties, "tokens_of", counting_tokens_of)
    return counted


def log() -> list[tuple[int, bytes]]:
    messages = []
    for number, body in enumerate(BODIES):
        fields = {"TAGS": f"t{number}", "KEYS": f"k{number} all", "color": "red" if number % 2 else "blue"}
        messages.append(Message(topic="t", body=zlib.compress(body), sys_flag=COMPRESSED, properties=pack_properties(fields)))
    return segments_of(*messages)


def test_a_filtered_body_is_decompressed_once(calls: Counter[str]) -> None:
    assert table_of(log(), columns="body", where=f"body != X'{BODIES[3].hex()}'")["body"].to_pylist() == [*BODIES[:3], BODIES[4]]
    assert calls["decompress"] == len(BODIES)


def test_a_body_is_decompressed_once_for_its_text_too(calls: Counter[str]) -> None:
    table = table_of(log(), columns="body_text,body", where="body_text LIKE '%1' OR body_text RLIKE '[23]$'")
    assert table["body"].to_pylist() == BODIES[1:4]
    assert table["body_text"].to_pylist() == [body.decode() for body in BODIES[1:4]]
    assert calls["decompress"] == len(BODIES)


def test_a_condition_on_the_text_is_evaluated_after_the_cheaper_ones(calls: Counter[str]) -> None:
    table = table_of(log(), columns="tags", where="body_text LIKE 'body%' AND properties['color'] = 'red' AND queue_id = 0")
    assert table["tags"].to_pylist() == ["t1", "t3"]
    assert calls["decompress"] == 2


def test_filtered_properties_are_cut_once(calls: Counter[str]) -> None:
    table = table_of(log(), columns="tags,keys,properties", where="tags LIKE 't%' AND properties['color'] = 'red'")
    assert table["tags"].to_pylist() == ["t1", "t3"]
    assert table["keys"].to_pylist() == [["k1", "all"], ["k3", "all"]]
    assert [dict(row)["TAGS"] for row in table["properties"].to_pylist()] == ["t1", "t3"]
    assert calls["cut"] == 1


def test_the_properties_of_messages_that_were_sent_back_are_cut_once(calls: Counter[str]) -> None:
    properties = pack_properties({"RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "A"})
    messages = [Message(topic=topic, properties=properties) for topic in ("t", "%RETRY%g", "%DLQ%g")]
    table = table_of(segments_of(*messages), columns="origin_topic,origin_msg_id,tags", where="origin_topic = 'orders' OR topic = 't'")
    assert table["origin_topic"].to_pylist() == [None, "orders", "orders"]
    assert table["origin_msg_id"].to_pylist() == [None, "A", "A"]
    assert calls["cut"] == 1
    assert table_of(segments_of(messages[0]), columns="origin_topic")["origin_topic"].to_pylist() == [None]
    assert calls["cut"] == 1


def test_bodies_and_properties_together(calls: Counter[str]) -> None:
    table = table_of(log(), columns="*", where=f"tags != 't0' AND body != X'{BODIES[4].hex()}'")
    assert table["body"].to_pylist() == BODIES[1:4]
    assert table["tags"].to_pylist() == ["t1", "t2", "t3"]
    assert calls == {"decompress": len(BODIES) - 1, "cut": 1}
