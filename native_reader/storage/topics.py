"""The file `config/topics.json`: a broker's topics, and which of them hold inner batches (5.0 and later).

fastjson writes it: numeric keys have no quotes. `topics.json.bak` is the previous version, used if a crash truncated the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from native_reader.storage.protocol import storage_of

_LARGEST = 64 << 20
_MOST_QUEUES = 1 << 16
_MOST_INT32 = 2**31
_TYPE, _OF_BATCHES = "queue.type", "BatchCQ"
_TEXT_OR_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*+"?)|(?<![0-9])(-?[0-9]++)(?=\s*+:)', re.DOTALL)


class TopicConfig(NamedTuple):
    """A topic as it is configured; None where the file has no valid value."""

    name: str
    read_queues: int | None
    write_queues: int | None
    perm: int | None
    attributes: Mapping[str, str]


class Topics:
    """The topics in a configuration directory; empty if the file is missing or unreadable."""

    def __init__(self, directory: str | None) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        """All topics with a printable name."""
        return [name for name in self._table if name.isprintable()]

    def configs(self) -> list[TopicConfig]:
        """All topics with a printable name."""
        return [_config(name, self._table[name]) for name in self.names()]

    def has(self, name: str) -> bool:
        """Whether the file contains that topic. Searches for the name without parsing: a broker may have thousands of topics."""
        quoted = re.escape(json.dumps(name, ensure_ascii=False).encode("utf-8", "replace"))
        return re.search(rb'"topicName"\s*:\s*' + quoted, self._text) is not None

    def queues_of(self, name: str) -> int:
        """The number of queues of that topic; 0 if unknown."""
        topic = self._table.get(name)
        counts = [topic.get(each) for each in ("readQueueNums", "writeQueueNums")] if isinstance(topic, dict) else []
        return max((each for each in counts if isinstance(each, int) and 0 <= each <= _MOST_QUEUES), default=0)

    def of_batches(self) -> frozenset[str]:
        """The topics that may contain inner batches."""
        is_whole = self._text.rstrip().endswith(b"}")
        if is_whole and _OF_BATCHES.encode() not in self._text:
            return frozenset()
        return frozenset(name for name, each in self._table.items() if _attributes_of(each).get(_TYPE) == _OF_BATCHES)

    @cached_property
    def _text(self) -> bytes:
        return _read(self._directory, "topics.json")

    @cached_property
    def _table(self) -> Mapping[str, Any]:
        table = _table_in(self._text)
        return (_table_in(_read(self._directory, "topics.json.bak")) or {}) if table is None else table


def _read(directory: str | None, name: str) -> bytes:
    if directory is None:
        return b""
    try:
        with storage_of(directory).open(f"{directory}/{name}") as file:
            (text,) = file.read_ranges([(0, min(file.size(), _LARGEST))])
    except OSError:  # missing or unreadable
        return b""
    return bytes(text)


def _table_in(text: bytes) -> Mapping[str, Any] | None:
    """The topics of a configuration; None if the text is truncated or has another structure."""
    try:
        table = _parsed(text.decode())["topicConfigTable"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return table if isinstance(table, dict) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(_TEXT_OR_BARE_KEY.sub(lambda match: match[1] or f'"{match[2]}"', text))


def _config(name: str, topic: Any) -> TopicConfig:
    fields = topic if isinstance(topic, dict) else {}
    numbers = [fields.get(each) for each in ("readQueueNums", "writeQueueNums", "perm")]
    reads, writes, perm = (each if type(each) is int and abs(each) < _MOST_INT32 else None for each in numbers)
    # JSON can have half a surrogate pair, which no column can hold.
    texts = {
        key: value for key, value in _attributes_of(topic).items() if isinstance(value, str) and key.isprintable() and value.isprintable()
    }
    return TopicConfig(name, reads, writes, perm, texts)


def _attributes_of(topic: Any) -> Mapping[str, Any]:
    attributes = topic.get("attributes") if isinstance(topic, dict) else None
    return attributes if isinstance(attributes, dict) else {}
