"""A small healthy store with everything that a check compares, and its findings."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

import native_reader as nr
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message
from support.indexed_stores import indexed
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, in_memory, log_of, message

CHECKPOINT = "store/checkpoint"
TOPICS = "store/config/topics.json"
OFFSETS = "store/config/consumerOffset.json"


def healthy(messages: int | Iterable[Message] = 60, *, queue_file: int = 4000, **options: Any) -> tuple[CommitLog, Files]:
    """Three topics of one queue each. The options are those of `dispatched`."""
    each = map(message, range(messages)) if isinstance(messages, int) else messages
    log = log_of(numbered(each))
    files = files_of(log) | dispatched(log.placed, file=queue_file, **options) | indexed(log.placed)
    return log, files | beside(log)


def beside(log: CommitLog, topics: Iterable[str] = ("T0", "T1", "T2")) -> Files:
    """Checkpoint and configuration."""
    newest = log.placed[-1].message.store_timestamp
    table = {topic: {"topicName": topic, "readQueueNums": 1, "writeQueueNums": 1} for topic in topics}
    return {
        CHECKPOINT: struct.pack(">6q", newest, newest, 0, 0, 0, 0).ljust(4096, b"\0"),
        TOPICS: json.dumps({"topicConfigTable": table}, ensure_ascii=False).encode(),
        OFFSETS: b'{"offsetTable":{"T0@g":{0:3},"T1@g":{0:20}}}',
    }


def findings(files: Files, jobs: int = 1, **options: Any) -> list[dict[str, Any]]:
    """What a check of these files finds."""
    memory = in_memory(files)
    return list(nr.open(f"{memory.url}/store").verify(**options).to_table(jobs).to_pylist())


def codes(files: Files, **options: Any) -> dict[str, int]:
    """The codes that a check finds, with their counts."""
    found: dict[str, int] = {}
    for each in findings(files, **options):
        found[each["code"]] = found.get(each["code"], 0) + each["count"]
    return found
