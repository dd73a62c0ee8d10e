"""The other files of a store: config/*.json in fastjson's dialect, and the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from native_reader.testing.java import map_order
from native_reader.writing.records import checkpoint

_SYSTEM_GROUPS: Final = (
    "TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL",
)  # fmt: skip


def fastjson(value: Any, depth: int = 0) -> str:
    """fastjson 1.x with PrettyFormat: tabs, and integer keys without quotes, which is not valid JSON."""
    if isinstance(value, Mapping):
        return _enclosed("{}", [f"{fastjson(key)}:{fastjson(item, depth + 1)}" for key, item in value.items()], depth)
    if isinstance(value, list):
        return _enclosed("[]", [fastjson(item, depth + 1) for item in value], depth)
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else str(value)


def _enclosed(brackets: str, items: list[str], depth: int) -> str:
    inner = "\n" + "\t" * (depth + 1)
    return f"{brackets[0]}{inner}{f',{inner}'.join(items)}{inner[:-1]}{brackets[1]}" if items else brackets


def write_json(directory: Path, name: str, value: Mapping[str, Any]) -> None:
    """Write a config file and its backup, which a broker creates with every later rewrite."""
    directory.mkdir(parents=True, exist_ok=True)
    for suffix in ("", ".bak"):
        (directory / (name + suffix)).write_text(fastjson(value), encoding="utf-8")


def write_checkpoint(path: Path, physic: int, logics: int, index: int, logics_offset: int) -> None:
    """Times of the newest record flushed, dispatched and in a full index file; without controller mode the rest is 0."""
    path.write_bytes(checkpoint(physic, logics, index, dispatched=logics_offset))


def topics_json(topics: Mapping[str, int], batched: str, timestamp: int) -> dict[str, Any]:
    """TopicConfigManager's file for {topic: queues}."""
    table = {
        name: {
            "attributes": {"queue.type": "BatchCQ"} if name == batched else {},
            "order": False,
            "perm": 6,
            "readQueueNums": topics[name],
            "topicFilterType": "SINGLE_TAG",
            "topicName": name,
            "topicSysFlag": 0,
            "writeQueueNums": topics[name],
        }
        for name in map_order(topics, 2048)  # ConcurrentHashMap(1024)
    }
    return {"dataVersion": _version(len(topics), timestamp), "topicConfigTable": table}


def groups_json(groups: list[str], timestamp: int) -> dict[str, Any]:
    """SubscriptionGroupManager's file: the groups in use and those that every broker creates."""
    table = {
        name: {
            "attributes": {},
            "brokerId": 0,
            "consumeBroadcastEnable": True,
            "consumeEnable": True,
            "consumeFromMinEnable": True,
            "consumeMessageOrderly": False,
            "consumeTimeoutMinute": 15,
            "groupName": name,
            "groupRetryPolicy": {"type": "CUSTOMIZED"},
            "groupSysFlag": 0,
            "notifyConsumerIdsChangedEnable": True,
            "retryMaxTimes": 16,
            "retryQueueNums": 1,
            "whichBrokerWhenConsumeSlowly": 1,
        }
        for name in map_order([*_SYSTEM_GROUPS, *groups], 2048)
    }
    return {"dataVersion": _version(len(groups), timestamp), "forbiddenTable": {}, "subscriptionGroupTable": table}


def offsets_json(offsets: Mapping[str, Mapping[int, int]], timestamp: int) -> dict[str, Any]:
    """ConsumerOffsetManager's file for {topic@group: {queue: next offset}}; fastjson adds the derived groupTopicMap."""
    by_group: dict[str, list[str]] = {}
    for name in offsets:
        topic, _, group = name.partition("@")
        by_group.setdefault(group, []).append(topic)
    return {
        "dataVersion": _version(0, timestamp),
        "groupTopicMap": by_group,
        "offsetTable": {name: dict(sorted(offsets[name].items())) for name in map_order(offsets, 1024)},
        "pullOffsetTable": {},
    }


def delays_json(offsets: Mapping[int, int], timestamp: int) -> dict[str, Any]:
    """ScheduleMessageService's file: {level: next offset in the queue level - 1}."""
    return {"dataVersion": _version(len(offsets), timestamp), "offsetTable": dict(sorted(offsets.items()))}


def _version(counter: int, timestamp: int) -> dict[str, int]:
    return {"counter": counter, "stateVersion": 0, "timestamp": timestamp}


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return f'"{escaped}"'
