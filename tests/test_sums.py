"""Sums by group in bounded memory equal plain counting, in any batches."""

from __future__ import annotations

from itertools import chain
from random import Random

import pyarrow as pa
import pytest

import native_reader.sums
from native_reader.sums import Tally, addresses, measures


def tally(limit: int = 1000) -> Tally:
    return Tally(("topic", "tag"), ("bytes", "messages"), least=("first",), most=("largest",), limit=limit)


def rows(random: Random, count: int, names: int) -> list[dict[str, object]]:
    return [
        {
            "topic": f"T{random.randrange(names)}",
            "tag": random.choice([None, "", "a"]),
            "bytes": random.randrange(1000),
            "messages": 1,
            "first": random.choice([None, random.randrange(100)]),
            "largest": random.randrange(1000),
        }
        for _ in range(count)
    ]


def added(target: Tally, batches: list[list[dict[str, object]]]) -> Tally:
    for batch in batches:
        target.add(pa.Table.from_pylist(batch))
    return target


def test_sums_equal_plain_counting() -> None:
    random = Random(1)
    batches = [rows(random, 50, 7) for _ in range(20)]
    found = added(tally(), batches).top(1000)
    expected: dict[tuple[object, object], list[dict[str, object]]] = {}
    for row in chain(*batches):
        expected.setdefault((row["topic"], row["tag"]), []).append(row)
    assert len(found.rows) == len(expected)
    assert (found.groups, set(found.others.values())) == (0, {0})
    for row in found.rows:
        own = expected[row["topic"], row["tag"]]
        assert row["bytes"] == sum(int(str(each["bytes"])) for each in own)
        assert row["messages"] == len(own)
        assert row["largest"] == max(int(str(each["largest"])) for each in own)
        assert row["first"] == min((int(str(each["first"])) for each in own if each["first"] is not None), default=None)
    sizes = [int(str(row["bytes"])) for row in found.rows]
    assert sizes == sorted(sizes, reverse=True)


def test_the_order_of_batches_changes_nothing() -> None:
    random = Random(2)
    batches = [rows(random, 50, 7) for _ in range(20)]
    assert added(tally(), batches).top(10) == added(tally(), batches[::-1]).top(10)


def test_fewer_keys_and_others_have_the_same_sums() -> None:
    batches = [rows(Random(3), 500, 40)]
    found = added(tally(), batches)
    by_topic = found.by("topic")
    assert by_topic.totals() == found.totals() == {"bytes": sum(int(str(row["bytes"])) for row in batches[0]), "messages": 500}
    top = by_topic.top(5)
    assert len(top.rows) + top.groups == len({row["topic"] for row in batches[0]})
    assert sum(int(str(row["bytes"])) for row in top.rows) + top.others["bytes"] == found.totals()["bytes"]


def test_many_groups_are_bounded_and_nothing_is_lost() -> None:
    large = {"topic": "large", "tag": None, "bytes": 1 << 30, "messages": 1, "first": 1, "largest": 1}
    found = tally(limit=100)
    for number in range(50):
        small = [large | {"topic": f"T{number}-{each}", "bytes": 1} for each in range(50)]
        found.add(pa.Table.from_pylist([large, *small]))
        assert len(found.table() or ()) <= 100
    assert found.forgotten_groups > 0
    assert found.totals() == {"bytes": 50 * (1 << 30) + 50 * 50, "messages": 50 * 51}
    assert found.top(1).rows[0]["bytes"] == 50 << 30


def test_an_empty_tally() -> None:
    assert tally().top(5).rows == []
    assert tally().by("topic").totals() == {"bytes": 0, "messages": 0}


def test_long_names_are_bounded_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_reader.sums, "_MOST_BYTES", 100_000)
    found = tally()
    for number in range(50):
        found.add(
            pa.Table.from_pylist([{"topic": f"{number}" * 5000, "tag": None, "bytes": number, "messages": 1, "first": 1, "largest": 1}])
        )
    known = found.table()
    assert known is not None
    assert known.nbytes <= 100_000
    assert found.forgotten_groups > 0
    assert found.totals() == {"bytes": sum(range(50)), "messages": 50}
    assert found.top(1).rows[0]["bytes"] == 49


def test_an_inner_batch_is_one_record() -> None:
    rows = pa.table({"record_size": pa.array([100, 300, 300, 300], pa.int32()), "inner_index": pa.array([None, 0, 1, 2], pa.int32())})
    found = {name: column.to_pylist() for name, column in measures(rows).items()}
    assert found == {"bytes": [100, 300, 0, 0], "messages": [1] * 4, "records": [1, 1, 0, 0], "largest": [100, 300, 300, 300]}


def test_addresses_have_no_ports() -> None:
    hosts = pa.array(["10.0.0.1:10911", "[::1]:80", "10.0.0.1", None])
    assert addresses(hosts).to_pylist() == ["10.0.0.1", "[::1]", "10.0.0.1", None]


def test_of_equal_groups_the_first_one_is_larger_and_the_lowest_first_of_the_others_is_known() -> None:
    found = Tally(("code",), ("messages",), first=("at",), limit=4)
    for at, code in enumerate([3, 1, 1, 2, 3, 9, 8, 7, 6, 5]):
        found.add(pa.table({"code": [code], "messages": [1], "at": [at * 10]}))
    top = found.top(2)
    assert top.rows == [{"code": 3, "messages": 2, "at": 0}, {"code": 1, "messages": 2, "at": 10}]
    assert top.others == {"messages": 6, "at": 30}


def test_without_a_limit_all_groups_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_reader.sums, "_MOST_BYTES", 1000)
    found = Tally(("topic",), ("messages",), limit=None)
    for number in range(300):
        found.add(pa.table({"topic": [f"T{number % 150}"], "messages": [1]}))
    assert [row["messages"] for row in found.top(1000).rows] == [2] * 150
    assert found.forgotten_groups == 0
