"""The tables `config` and `checkpoint`, compared with the brokers' files."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from support.golden import STORES, Golden, opened
from support.plain_decoder import Row
from support.stores import files_of, in_memory, log_of

import native_reader as nr

Get = Callable[[str], Golden]
_FILES = {"topic": ("topics.json", "topicConfigTable"), "group": ("subscriptionGroup.json", "subscriptionGroupTable")}
_FAMILIES = {"topic": ("topics", "topic"), "group": ("subscriptionGroups", "subscriptionGroup")}


def flat(prefix: str, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {name: text for key, each in value.items() for name, text in flat(f"{prefix}.{key}" if prefix else key, each).items()}
    return {prefix: value if isinstance(value, str) else json.dumps(value)}


@pytest.mark.parametrize("name", STORES)
def test_settings_are_those_in_files_and_databases(golden_store: Get, name: str) -> None:
    store = golden_store(name)
    rows = opened(store).table("config").to_table().to_pylist()
    assert all(row["store"] == store.root.as_uri() for row in rows)
    expected: dict[tuple[str, str], dict[str, str]] = {}
    for kind, (alone, family) in _FAMILIES.items():
        for key, value in {**store.rows_in(f"config/{alone}"), **store.rows_in("config/metadata", family)}.items():
            expected[kind, key.decode()] = flat("", json.loads(value))
    for kind, (file, table) in _FILES.items():
        path = store.root / "config" / file
        if path.exists():
            for each, values in json.loads(re.sub(r"([{,]\s*)(\d+)(\s*:)", r'\1"\2"\3', path.read_text()))[table].items():
                expected[kind, each] = flat("", values)
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        found.setdefault((row["kind"], row["name"]), {})[row["setting"]] = row["value"]
    assert found == {key: values for key, values in expected.items() if values}


def settings(**files: str) -> list[tuple[Any, ...]]:
    memory = in_memory(files_of() | {f"store/config/{name}.json": text.encode() for name, text in files.items()})
    rows = nr.open(f"{memory.url}/store").table("config").to_table().to_pylist()
    return [(row["kind"], row["name"], row["setting"], row["value"]) for row in rows]


def test_values_of_each_kind() -> None:
    assert settings(
        topics='{"topicConfigTable":{"a":{"perm":6,"order":false,"attributes":{"queue.type":"BatchCQ"},"x":[1,{"y":null}]},"b":7,"c":{}}}',
        subscriptionGroup='{"subscriptionGroupTable":{"g":{"retryMaxTimes":16}},"forbiddenTable":{"g":{"a":4},"other":{"b":1}}}',
    ) == [
        ("topic", "a", "perm", "6"),
        ("topic", "a", "order", "false"),
        ("topic", "a", "attributes.queue.type", "BatchCQ"),
        ("topic", "a", "x", '[1, {"y": null}]'),
        ("topic", "b", None, None),
        ("group", "g", "retryMaxTimes", "16"),
        ("group", "g", "forbidden.a", "4"),
        ("group", "other", "forbidden.b", "1"),
    ]


def test_names_that_arrow_cannot_store() -> None:
    assert settings(topics=r'{"topicConfigTable":{"\ud800":{"\udc00":"\ud83d"}}}') == [("topic", "\ufffd", "\ufffd", "\ufffd")]


def test_a_damaged_file_is_an_error() -> None:
    with pytest.raises(nr.StoreDamaged, match=r"subscriptionGroup\.json: is not JSON at byte 1: expected property name"):
        settings(topics='{"topicConfigTable":{}}', subscriptionGroup="{")
    with pytest.raises(nr.StoreDamaged, match=r"expected 'forbiddenTable' to be an object, not a list"):
        settings(subscriptionGroup='{"subscriptionGroupTable":{},"forbiddenTable":[]}')


# checkpoint


def checkpoint(content: bytes | None) -> list[Row]:
    files = files_of(log_of(3)) | ({} if content is None else {"store/checkpoint": content})
    rows: list[Row] = nr.open(f"{(memory := in_memory(files)).url}/store").table("checkpoint").to_table().to_pylist()
    assert all(row.pop("store").startswith(memory.url) for row in rows)
    return rows


NAMES = ("flushed_timestamp", "dispatched_timestamp", "indexed_timestamp", "master_flushed_offset", "confirmed_offset", "dispatched_offset")


@pytest.mark.parametrize("name", STORES)
def test_the_fields_of_a_brokers_checkpoint(golden_store: Get, name: str) -> None:
    store = golden_store(name)
    (row,) = opened(store).table("checkpoint").to_table().to_pylist()
    times = [row[each] for each in NAMES[:3]]
    fields = [None if time is None else round(time.timestamp() * 1000) for time in times] + [row[each] for each in NAMES[3:]]
    assert [field or 0 for field in fields] == list(struct.unpack_from(">6q", (store.root / "checkpoint").read_bytes()))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, []),
        (b"", [(None,) * 6]),
        (bytes(4096), [(None,) * 6]),
        (struct.pack(">2q", 1000, 2000)[:-1], [(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), *(None,) * 5)]),
        (struct.pack(">6q", 0, -(2**63), 2**63 - 1, 5, 2**63 - 1, -1), [(None, None, None, 5, 2**63 - 1, -1)]),
        (struct.pack(">6q", 253_402_300_799_999, *[0] * 5), [(datetime(9999, 12, 31, 23, 59, 59, 999000, UTC), *(None,) * 5)]),
    ],
)
def test_a_checkpoint_that_is_missing_or_zero_or_cut_or_in_the_future(content: bytes | None, expected: list[tuple[Any, ...]]) -> None:
    """An unset field is null, and so is a time out of range."""
    assert [tuple(row[name] for name in NAMES) for row in checkpoint(content)] == expected
