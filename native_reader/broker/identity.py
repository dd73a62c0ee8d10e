"""Which broker wrote a store: its name and its cluster, from its configuration or from topics that brokers make for themselves."""

from __future__ import annotations

from typing import NamedTuple

from native_reader.broker.settings import TopicConfig, topic_configs
from native_reader.errors import PathError, StoreDamaged, UnreadableError
from native_reader.layout.pop import REVIVE_TOPIC_PREFIX
from native_reader.storage.broker_conf import names_in
from native_reader.storage.paths import uri_of
from native_reader.storage.store import StoreFiles

_OF_CLUSTERS, _REPLIES = REVIVE_TOPIC_PREFIX, "_REPLY_TOPIC"
_OF_BROKERS = "rmq_sys_SYNC_BROKER_MEMBER_"
_INHERITED = 1
"""`PermName.PERM_INHERIT`: a broker sets it for the topics that have its own name and that of its cluster."""
_OTHERS_INHERITED = "TBW102"


class Identity(NamedTuple):
    """What is known of a broker. `host`: of its messages; a slave has those of its master."""

    broker: str | None = None
    cluster: str | None = None
    host: str | None = None


UNKNOWN = Identity()
_CONF = "broker.conf"
"""In the root of a store: a broker does not write it there, but who copies a store may put it beside the log."""


def configured_identity(broker_conf: str | None) -> Identity:
    """What a broker's configuration file says of it."""
    return UNKNOWN if broker_conf is None else Identity(*names_in(uri_of(broker_conf)))


def identity_of(files: StoreFiles, configured: Identity = UNKNOWN) -> Identity:
    """The broker of a store: what is `configured`, else what its `broker.conf` says, else its topics."""
    found = configured
    for known in (_copied_conf, _by_topics):
        if found.broker is None or found.cluster is None:
            other = known(files)
            found = Identity(found.broker or other.broker, found.cluster or other.cluster, found.host)
    return found


def _copied_conf(files: StoreFiles) -> Identity:
    try:
        return Identity(*names_in(f"{files.uri}/{_CONF}"))
    except (PathError, UnreadableError):
        return UNKNOWN


def _by_topics(files: StoreFiles) -> Identity:
    return identity_in(files.config)


def identity_in(config: str | None) -> Identity:
    """The name and the cluster, as far as the topics in a configuration directory show them."""
    try:
        topics = topic_configs(config)
    except (StoreDamaged, UnreadableError):  # a finding elsewhere
        return UNKNOWN
    cluster = _only({name.removeprefix(_OF_CLUSTERS) for name in topics if name.startswith(_OF_CLUSTERS)})
    cluster = cluster or _only({name.removesuffix(_REPLIES) for name in topics if name.endswith(_REPLIES)})
    broker = _only({name.removeprefix(_OF_BROKERS) for name in topics if name.startswith(_OF_BROKERS)})  # 5.0 and later
    return Identity(broker or _only({name for name, topic in topics.items() if _is_of_broker(name, topic, cluster)}), cluster)


def _is_of_broker(name: str, topic: TopicConfig, cluster: str | None) -> bool:
    return bool((topic.perm or 0) & _INHERITED) and name not in (_OTHERS_INHERITED, cluster) and topic.read_queues == 1


def _only(names: set[str]) -> str | None:
    """The only name: a store that was renamed has several."""
    return names.pop() if len(names) == 1 else None
