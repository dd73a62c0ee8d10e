"""Which broker wrote a store: its name and its cluster, from its configuration or from topics that brokers make for themselves.

Several stores get the names that are given, else as each is configured, else their directories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from native_reader.broker.settings import TopicConfig, topic_configs
from native_reader.errors import OptionError, PathError, StoreDamaged, UnreadableError, shown
from native_reader.layout.pop import REVIVE_TOPIC_PREFIX
from native_reader.sentences import Said, say
from native_reader.storage.broker_conf import names_in
from native_reader.storage.paths import uri_of
from native_reader.storage.store import StoreFiles
from native_reader.text import names_of

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


_MOST_NAMES = 5


def broker_names(stores: Sequence[StoreFiles], given: Mapping[str, str], configured: Identity = UNKNOWN) -> dict[str, str]:
    """The name of each store's broker, by the URI of the store. No two stores have the same one.

    `given`: names by path. `configured`: what a configuration file says, which is about one broker and so about a single store.
    """
    uris = [store.uri for store in stores]
    said = {_meant(path, uris): _checked(name) for path, name in given.items()}
    of_file = configured if len(stores) == 1 else UNKNOWN
    known = {store.uri: said.get(store.uri) or identity_of(store, of_file).broker for store in stores}
    names = {uri: known[uri] or directory for uri, directory in _directories(uris).items()}
    owners: dict[str, str] = {}
    for uri in uris:
        if (other := owners.setdefault(names[uri], uri)) != uri:
            raise OptionError(say("one broker twice", other=other, uri=uri, name=shown(names[uri])))
    return {uri: names[uri] for uri in uris}


def _meant(path: str, uris: Sequence[str]) -> str:
    """The store at this path, above it or below it."""
    place = uri_of(path).rstrip("/")
    found = [uri for uri in uris if place == uri or place.startswith(f"{uri}/")] or [uri for uri in uris if uri.startswith(f"{place}/")]
    if len(found) != 1:
        what = say("stores at path", count=len(found)) if found else Said("no store at path")
        raise OptionError(say("name of no store", path=shown(path), what=what, stores=names_of(uris, _MOST_NAMES)))
    return found[0]


def _checked(name: str) -> str:
    if not name.strip():
        raise OptionError(Said("empty name"))
    return name


def _directories(uris: Sequence[str]) -> dict[str, str]:
    """The last parts of each path that no other has, without the parts at the end that all have: most stores are in a directory `store`."""
    paths = [tuple(uri.rstrip("/").split("/")) for uri in uris]
    while len(paths) > 1 and len({path[-1] for path in paths}) == 1:
        paths = [path[:-1] for path in paths]
    seen = Counter(path[-count:] for path in paths for count in range(1, len(path) + 1))
    ends = [next(count for count in range(1, len(path) + 1) if seen[path[-count:]] == 1 or count == len(path)) for path in paths]
    return {uri: "/".join(path[-count:]) for uri, path, count in zip(uris, paths, ends, strict=True)}
