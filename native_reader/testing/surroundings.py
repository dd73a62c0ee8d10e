"""Writes a store's other files: config, checkpoint and lock. Also applies a kill and the deletion of a topic."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from native_reader.testing import config
from native_reader.testing.producers import BROKER, CLUSTER, ProducedTopic
from native_reader.testing.queues import NumberedQueues
from native_reader.testing.rare import HALF, MAX_TIME, OP, REVIVE, SCHEDULE, TIMER, TRACE
from native_reader.testing.spec import StoreSpec, Summary
from native_reader.testing.stories import BATCH_TOPIC, GROUP, LMQ_PARENT, LONG_TOPIC

_ALWAYS: Final = {"TBW102": 8, "SELF_TEST_TOPIC": 1, "BenchmarkTest": 1024, "OFFSET_MOVED_EVENT": 1, CLUSTER: 16, BROKER: 1}
_ALWAYS_QUEUES: Final = {SCHEDULE: 18, REVIVE: 8, HALF: 1, OP: 1, TRACE: 1, TIMER: 1}
_OWN_QUEUES: Final = {BATCH_TOPIC: 2, LMQ_PARENT: 2, LONG_TOPIC: 1, MAX_TIME: 1}
_GROUPS: Final = (GROUP, "billing", "warehouse-sync", "analytics", "search-indexer", "audit")


def write(
    root: Path,
    spec: StoreSpec,
    summary: Summary,
    *,
    topics: list[ProducedTopic],
    queues: NumberedQueues,
    delivered: Mapping[int, int],
    index_timestamp: int,
    dispatched: tuple[int, int],
) -> None:
    """Write all files except commitlog, queues and index; `dispatched`: offset and time of the newest dispatched record."""
    now, directory = summary.last_stored, root / "config"
    if spec.deleted is not None:
        for kind in ("consumequeue", "batchconsumequeue"):
            shutil.rmtree(root / kind / spec.deleted, ignore_errors=True)
    known = _ALWAYS | _ALWAYS_QUEUES | {topic.name: topic.queues for topic in topics}
    seen = {queue.topic for queue in queues.queues[1:]}
    known |= {name: _OWN_QUEUES.get(name, 1) for name in sorted(seen) if name not in known and not name.startswith("%LMQ%")}
    known.pop(spec.deleted or "", None)
    config.write_json(directory, "topics.json", config.topics_json(known, BATCH_TOPIC, now))
    config.write_json(directory, "subscriptionGroup.json", config.groups_json(list(_GROUPS), now))
    offsets = _consumer_offsets(spec, topics, queues)
    config.write_json(directory, "consumerOffset.json", config.offsets_json(offsets, now))
    config.write_json(directory, "delayOffset.json", config.delays_json(delivered, now))
    config.write_json(directory, "consumerFilter.json", {"filterDataByTopic": {}})
    (root / "lock").write_bytes(b"lock")
    if spec.killed:
        (root / "abort").write_bytes(b"1739")
        now = dispatched[1]  # the last flush was some hundred milliseconds earlier
    config.write_checkpoint(root / "checkpoint", now, dispatched[1], index_timestamp, dispatched[0])


def _consumer_offsets(spec: StoreSpec, topics: list[ProducedTopic], queues: NumberedQueues) -> dict[str, dict[int, int]]:
    """Consumer offsets: each group reads a few topics, with more or less lag."""
    chance = random.Random(spec.seed)
    offsets: dict[str, dict[int, int]] = {}
    ends = {queue: int(queues.next_offset[number]) for number, queue in enumerate(queues.queues) if number}
    by_topic: dict[str, dict[int, int]] = {}
    for queue, end in ends.items():
        by_topic.setdefault(queue.topic, {})[queue.queue_id] = end
    for group in _GROUPS:
        lag = chance.choice((0.0, 0.0, 0.05, 0.5, 1.0))
        for topic in chance.sample(topics, min(3, len(topics))):
            if topic.name != spec.deleted:
                offsets[f"{topic.name}@{group}"] = {q: int(end * (1 - lag * chance.random())) for q, end in by_topic[topic.name].items()}
        retry = f"%RETRY%{group}"
        offsets[f"{retry}@{group}"] = {0: by_topic.get(retry, {}).get(0, 0)}
    for name in (HALF, OP):
        if name in by_topic:
            offsets[f"{name}@CID_RMQ_SYS_TRANS"] = by_topic[name]
    return offsets
