"""The settings of an extract: those of its topics and groups, and the offsets of groups in its queues."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from native_reader.broker.config_files import read_config
from native_reader.repair import disk
from native_reader.repair.plan import RepairPlan

_TOPICS, _GROUPS = ("topics.json", "topicConfigTable"), ("subscriptionGroup.json", "subscriptionGroupTable")
_OFFSETS = ("consumerOffset.json", "lmqConsumerOffset.json")
_TABLES = ("offsetTable", "pullOffsetTable")


def write_settings(plan: RepairPlan, folder: str) -> None:
    """Write the files that a broker of files needs. Groups keep all their settings; a broker makes its own topics again."""
    topics, queues = set(plan.choices.topics), {key for key, queue in plan.survey.queues.items() if queue.runs}
    _write(plan, folder, *_TOPICS, {_TOPICS[1]: lambda table: {name: each for name, each in table.items() if name in topics}})
    _write(plan, folder, *_GROUPS, {})

    def offsets(table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those of queues with messages: the others begin at 0 again."""
        chosen = {name: each for name, each in table.items() if name.partition("@")[0] in topics and isinstance(each, dict)}
        return {name: {queue: each[queue] for queue in each if _key(name, queue) in queues} for name, each in chosen.items()}

    for name in _OFFSETS:
        _write(plan, folder, name, _TABLES[0], dict.fromkeys(_TABLES, offsets) | {"lmqOffsetTable": lambda _: {}})


def _key(name: str, queue: str) -> tuple[str, int]:
    return name.partition("@")[0], int(queue) if queue.isascii() and queue.isdecimal() else -1


def _write(
    plan: RepairPlan, folder: str, name: str, table: str, filters: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]
) -> None:
    """Write a file as it was, with some of its tables filtered."""
    found = read_config(plan.files.config, name, table)
    if found is None:
        return
    content = dict(found.content) | {key: filters[key](found.table(key)) for key in filters if key in found.content}
    encoded = json.dumps(content, ensure_ascii=False, indent=1).encode()
    with disk.changed(disk.path_in(folder, name), len(encoded)) as file:
        disk.put(file, 0, encoded)
