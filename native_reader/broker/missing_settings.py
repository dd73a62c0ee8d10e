"""Settings files that are gone together with their backups, although other files show that a broker had written them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from native_reader.broker.config_files import BACKUP, has_file
from native_reader.broker.consumer_offsets import offsets_in
from native_reader.broker.databases import has_settings
from native_reader.errors import StoreDamaged, UnreadableError
from native_reader.layout.kinds import DELAY_TOPIC, kind_of_topic
from native_reader.layout.queue_entry import is_light
from native_reader.storage.protocol import storage_of

TOPICS, OFFSETS, GROUPS, DELAYS = "topics.json", "consumerOffset.json", "subscriptionGroup.json", "delayOffset.json"
_OFFSETS = OFFSETS, "lmqConsumerOffset.json"
_GROUPS_OF_BROKERS = (
    *("CID_RMQ_SYS_", "CID_SYS_RMQ_TRANS", "CID_ONSAPI_", "CID_ONS-HTTP-PROXY", "CID_DefaultHeartBeatSyncerTopic", "CID_HOUSEKEEPING"),
    *("TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "SCHEDULE_CONSUMER"),
)
"""A broker knows them without a file."""


def missing_settings(config: str | None, topics: Callable[[], Collection[str]]) -> Iterator[str]:
    """The names of these files. `topics`: those whose queues have entries."""
    if config is None or has_settings(config):
        return
    there = {name for name in (TOPICS, *_OFFSETS, GROUPS, DELAYS) if has_file(config, name)}
    has_offsets = not there.isdisjoint(_OFFSETS)
    if TOPICS not in there and there and any(map(_is_of_users, topics())):
        yield TOPICS
    if not has_offsets and not there.isdisjoint((GROUPS, DELAYS)):
        yield OFFSETS
    if not any(_is_rewritten(config, name) for name in _OFFSETS):
        return
    # A broker writes this one before a group has an offset, and the next one every ten seconds; the offsets of groups every five.
    if GROUPS not in there and _has_groups(config):
        yield GROUPS
    if DELAYS not in there and DELAY_TOPIC in topics():
        yield DELAYS


def _is_of_users(topic: str) -> bool:
    return kind_of_topic(topic) is None and not is_light(topic)


def _has_groups(config: str) -> bool:
    try:
        return any(each.group is not None and not each.group.startswith(_GROUPS_OF_BROKERS) for each in offsets_in(config))
    except (StoreDamaged, UnreadableError):
        return False


def _is_rewritten(config: str, name: str) -> bool:
    """Whether a broker wrote it more than once: the version before is its backup."""
    uri = f"{config}/{name}{BACKUP}"
    try:
        return storage_of(uri).entry(uri) is not None
    except OSError:
        return False
