"""The account of what a broker writes (support/account.py), checked against real brokers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from support import golden
from support.account import SMALL, expected_index, index_files, java_hash, records_of, relaxed_json

from native_reader.testing.config import fastjson
from native_reader.testing.java import hash_code, map_order


@pytest.mark.parametrize("name", ["v4-kinds", "v5-kinds"])
def test_real_brokers_agree_with_our_expectations(golden_store: Callable[[str], golden.Golden], name: str) -> None:
    """The account against a real index: 5.5.0 indexes tags, 4.9.7 does not."""
    root = golden_store(name).root
    spec = replace(SMALL, max_hash_slot_num=200, max_index_num=800)
    records = records_of(root)
    if name == "v4-kinds":
        records = [record._replace(properties=re.sub(rb"(^|\x02)TAGS\x01[^\x02]*", b"\\1", record.properties)) for record in records]
    assert expected_index(records, spec) == index_files(root)


def test_config_is_written_as_real_brokers_write_it(golden_store: Callable[[str], golden.Golden]) -> None:
    config = golden_store("v5-kinds").root / "config"
    for name in ("topics.json", "subscriptionGroup.json", "delayOffset.json", "consumerFilter.json"):
        text = (config / name).read_text()
        value = json.loads(re.sub(r"([{,]\s*)(-?\d+):", r'\1"#\2":', text))
        assert fastjson(_whole_keys(value)) == text
    topics = list(relaxed_json(config / "topics.json")["topicConfigTable"])
    assert map_order(topics, 2048) == topics


def _whole_keys(value: object) -> object:
    if isinstance(value, dict):
        return {int(key[1:]) if key.startswith("#") else key: _whole_keys(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize("text", ["", "a", "AaBB", "polygenelubricants", "🚀 rocket", "标签", "%RETRY%g"])
def test_hash_code(text: str) -> None:
    assert hash_code(text) == java_hash(text)
