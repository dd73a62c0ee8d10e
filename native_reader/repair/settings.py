"""The settings of the new store: copied, apart from files that a broker cannot load."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from native_reader.broker.config_files import BACKUP, Settings, settings_files
from native_reader.broker.databases import has_settings
from native_reader.broker.missing_settings import missing_settings
from native_reader.broker.settings import Topics
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.queue_entry import is_light
from native_reader.repair import disk
from native_reader.storage.local import local_path

OLDER, DERIVED, OTHER, LEFT_OUT, LOST, MISSING = "older", "derived", "other", "left out", "lost", "missing"
NOT_MADE = LEFT_OUT, LOST, MISSING
"""The backup takes the place of a file; it is made from the queues, because it is damaged, or of another broker; it is left out, because
its backup is damaged, too, or because it has none; it is missing, and other files show that it was there. NOT_MADE: what the new store
does not have.
"""
_TOPICS = "topics.json"
EXTRACTED = {_TOPICS: "topicConfigTable", "subscriptionGroup.json": "subscriptionGroupTable"} | dict.fromkeys(
    ("consumerOffset.json", "lmqConsumerOffset.json"), "offsetTable"
)
"""The files of an extract, and the object that each has in any case."""


def mended_settings(config: str | None, topics: Iterable[str], with_entries: Collection[str]) -> Mapping[str, str]:
    """By name of a file that a broker does not load, or that has none of these topics: what takes its place.

    `with_entries`: the topics with messages in queues.
    """
    if config is None or has_settings(config):
        return {}
    states = dict(settings_files(config))
    found = {name: OLDER for name, state in states.items() if state is Settings.OLD}
    found |= {name: LEFT_OUT for name, state in states.items() if state is Settings.REFUSED}
    found |= {name: LOST for name, state in states.items() if state is Settings.LOST}
    found |= dict.fromkeys(missing_settings(config, lambda: with_entries), MISSING)
    if found.get(_TOPICS) in NOT_MADE:
        found[_TOPICS] = DERIVED
    own = {topic for topic in topics if kind_of_topic(topic) not in SYSTEM_KINDS and not is_light(topic)}
    if own and _TOPICS in states and found.get(_TOPICS) != DERIVED and own.isdisjoint(Topics(config).names()):
        found[_TOPICS] = OTHER
    return found


def copy_settings(
    config: str, folder: str, mended: Mapping[str, str], queues: Iterable[tuple[str, int]], batch_topics: Collection[str]
) -> None:
    """Copy the files of a directory of settings. `queues`: those of the new store, from which the settings of topics can be made."""
    source = local_path(config)
    for name, _ in disk.files_below(source):
        what = mended.get(name.removesuffix(BACKUP))
        if what is None or (what == OLDER and name.endswith(BACKUP)):
            disk.copy(disk.path_in(source, name), disk.path_in(folder, name))
    for name, what in mended.items():
        if what == OLDER:
            disk.copy(disk.path_in(source, name + BACKUP), disk.path_in(folder, name))
        elif what in (DERIVED, OTHER):
            write_topics(disk.path_in(folder, name), queues, batch_topics)


def write_topics(path: str, queues: Iterable[tuple[str, int]], batch_topics: Collection[str] = ()) -> None:
    """Write the settings of the topics of these queues."""
    table = _topics(queues, batch_topics)
    content = json.dumps({"dataVersion": {"counter": 1, "timestamp": 0}, "topicConfigTable": table}, indent=1).encode()
    with disk.changed(path, len(content)) as file:
        disk.put(file, 0, content)


def _topics(queues: Iterable[tuple[str, int]], batch_topics: Collection[str]) -> dict[str, dict[str, object]]:
    """The settings of users' topics with as many queues as there are: a broker makes its own topics again."""
    counts: dict[str, int] = {}
    for topic, queue_id in queues:
        if kind_of_topic(topic) not in SYSTEM_KINDS and not is_light(topic):  # a light queue has no settings
            counts[topic] = max(counts.get(topic, 0), queue_id + 1)
    kept = {"perm": 6, "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False}
    of_batches = {topic: {"attributes": {"queue.type": "BatchCQ"}} for topic in batch_topics}
    own = {topic: {"readQueueNums": n, "writeQueueNums": n, **of_batches.get(topic, {})} for topic, n in sorted(counts.items())}
    return {topic: {"topicName": topic, **kept, **each} for topic, each in own.items()}
