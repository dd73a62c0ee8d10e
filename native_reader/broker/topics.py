"""The file `config/topics.json`: a broker's topics, and which of them hold inner batches (5.0 and later).

Without it, reading works, but knows less; so damage in it is not an error here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from native_reader.broker.config_files import config_text, read_config
from native_reader.errors import StoreDamaged

_FILE, _TABLE = "topics.json", "topicConfigTable"
_MOST_QUEUES = 1 << 16
_TYPE, _OF_BATCHES = "queue.type", "BatchCQ"


class Topics:
    """The topics in a configuration directory; empty if the file is missing or unreadable."""

    def __init__(self, directory: str | None) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        """All topics with a printable name."""
        return [name for name in self._table if name.isprintable()]

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
        return config_text(self._directory, _FILE)

    @cached_property
    def _table(self) -> Mapping[str, Any]:
        try:
            file = read_config(self._directory, _FILE, _TABLE)
        except StoreDamaged:  # callers work without it
            return {}
        return {} if file is None else file.table(_TABLE)


def _attributes_of(topic: Any) -> Mapping[str, Any]:
    attributes = topic.get("attributes") if isinstance(topic, dict) else None
    return attributes if isinstance(attributes, dict) else {}
