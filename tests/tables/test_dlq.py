"""`dlq`: what consumer groups gave up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.effort import thinned
from support.golden import Golden, opened
from support.own_stores import NAMES
from support.plain_decoder import Row
from support.queued_stores import dispatched, numbered
from support.stores import files_of, in_memory, log_of

import native_reader as nr
from native_reader.testing.records import Message, pack_properties

STORED = 1_700_000_000_000


def dead(group: str, number: int, origin: str | None = "orders", times: int = 17) -> Message:
    properties = pack_properties({"RETRY_TOPIC": origin} if origin is not None else {"TAGS": "t"})
    return Message(
        topic=f"%DLQ%{group}", properties=properties, reconsume_times=times, store_timestamp=STORED + number, born_timestamp=STORED - number
    )


def rows_of(*messages: Message) -> list[Row]:
    log = log_of(numbered(messages))
    memory = in_memory(files_of(log) | dispatched(log.placed))
    return list(nr.open(f"{memory.url}/store").table("dlq").to_table().to_pylist())


def milliseconds(row: Row) -> list[int]:
    return [round(row[f"{name}_timestamp"].timestamp() * 1000) for name in ("first_born", "first_store", "last_store")]


def test_a_row_for_each_group_and_topic_with_the_most_first() -> None:
    rows = rows_of(
        dead("few", 1, "payments"),
        Message(topic="orders", store_timestamp=STORED),
        Message(topic="%RETRY%few", store_timestamp=STORED),
        dead("many", 2, times=3),
        dead("many", 5, times=17),
        dead("many", 3, times=4),
        dead("many", 4, None),
    )
    assert [(row["group"], row["origin_topic"], row["messages"]) for row in rows] == [
        ("many", "orders", 3),
        ("few", "payments", 1),
        ("many", None, 1),
    ]
    assert (rows[0]["min_reconsume_times"], rows[0]["max_reconsume_times"]) == (3, 17)
    assert milliseconds(rows[0]) == [STORED - 5, STORED + 2, STORED + 5]
    assert rows[0]["bytes"] == 3 * rows[1]["bytes"] - 3 * len("payments") + 3 * len("orders") + 3


def test_without_dead_messages_there_is_no_row() -> None:
    assert rows_of(Message(topic="orders"), Message(topic="%RETRY%group")) == []


def test_more_groups_than_are_kept_are_in_one_row_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Origins are untrusted texts: each message can have another one."""
    monkeypatch.setattr("native_reader.tables.dlq.MOST_GROUPS", 10)
    monkeypatch.setattr("native_reader.sums._MOST_WAITING", 0)
    rows = rows_of(dead("group", 0, "main"), dead("group", 0, "main"), *(dead("group", each, f"topic{each}") for each in range(30)))
    (rest,) = (row for row in rows if row["group"] is None)
    assert sum(row["messages"] for row in rows) == 32
    assert (rows[0]["origin_topic"], rows[0]["messages"]) == ("main", 2)
    assert rest["messages"] >= 20
    assert rest["first_store_timestamp"] is None


@pytest.mark.parametrize("name", thinned(NAMES, 9))
def test_rows_are_those_of_the_messages_of_real_brokers(own_store: Callable[[str], Golden], name: str) -> None:
    store = own_store(name)
    expected: dict[tuple[str, str | None], list[Row]] = {}
    for row in store.expected_rows:
        if str(row.get("topic")).startswith("%DLQ%"):
            expected.setdefault((row["topic"].removeprefix("%DLQ%"), row["origin_topic"]), []).append(row)
    rows = opened(store).table("dlq").to_table().to_pylist()
    assert {(row["group"], row["origin_topic"]): row["messages"] for row in rows} == {key: len(of) for key, of in expected.items()}
    for row in rows:
        of = expected[row["group"], row["origin_topic"]]
        assert row["max_reconsume_times"] == max(each["reconsume_times"] for each in of)
        times = [each["store_timestamp"] for each in of]
        assert milliseconds(row) == [min(each["born_timestamp"] for each in of), min(times), max(times)]
    assert rows or not name.endswith("-kinds")
