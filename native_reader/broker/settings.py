"""The settings of topics and consumer groups that a broker stores.

    rdb/                       RocksDB (5.3.2+, configManagerVersion=v2): `layout.config_database`
    metadata/                  RocksDB (5.4.0+, useSingleRocksDBForAllConfigs): column families `topic`, `subscriptionGroup`, `forbidden`
    topics/                    RocksDB (5.1.4+, storeType=defaultRocksDB): the name, its settings in JSON
    subscriptionGroups/        the same for groups; the column family `forbidden` has the topics that a group may not read
    topics.json                other brokers: {"topicConfigTable":{name:{…}}}
    subscriptionGroup.json     {"subscriptionGroupTable":{name:{…}}, "forbiddenTable":{name:{topic:1}}}

A broker uses one kind of them. The others are older: from before a change of its settings, or exported. Of those that have one, the
version with the latest time is that of the kind that it uses: `dataVersion` in JSON, the entry `kvDataVersionKey` in a database.

The tables show settings, so for `settings_in` damage is an error. `Topics` helps plans and checks to know more about topics; they
work without it, so there a damaged file is an empty one.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from native_reader.broker.config_files import NotFastjson, config_text, parse, printable, read_config
from native_reader.errors import StoreDamaged, UnreadableError, warn
from native_reader.layout.config_database import GROUPS, TOPICS, json_in, name_in
from native_reader.sentences import Said, say
from native_reader.storage.rocksdb import Database, is_database, open_database

_log = logging.getLogger("native_reader")
_FILE, _TABLE = "topics.json", "topicConfigTable"
TOPIC, GROUP = "topic", "group"
FORBIDDEN = "forbidden"
_MOST_INT32 = 2**31


class _Kind(NamedTuple):
    """Where the settings of topics or of groups are. `prefix`: of their keys in `rdb`; `family`: in `metadata`."""

    name: str
    prefix: bytes
    family: str
    database: str
    file: str
    table: str


_KINDS = (
    _Kind(TOPIC, TOPICS, "topic", "topics", _FILE, _TABLE),
    _Kind(GROUP, GROUPS, "subscriptionGroup", "subscriptionGroups", "subscriptionGroup.json", "subscriptionGroupTable"),
)
_VERSION = "kvDataVersionKey"
_LATEST = 2**63
"""The time of a source that keeps no version as JSON."""


class _Source(NamedTuple):
    """One kind's settings in one place, by name, and when they were changed last."""

    uri: str
    changed: int
    settings: Mapping[str, Any]


class NamedSettings(NamedTuple):
    """The settings of one topic or group, from a file or database; None if they are not an object."""

    file: str
    kind: str
    name: str
    values: Mapping[str, Any] | None


class TopicConfig(NamedTuple):
    """The settings of a topic that columns show; None where there is no valid value."""

    read_queues: int | None
    write_queues: int | None
    perm: int | None
    attributes: Mapping[str, str]


def topic_configs(config: str | None) -> dict[str, TopicConfig]:
    """The topics in a configuration directory, by name."""
    return {each.name: _topic_config(each.values or {}) for each in settings_in(config, (TOPIC,))}


def settings_in(config: str | None, kinds: Collection[str] = (TOPIC, GROUP)) -> Iterator[NamedSettings]:
    """The settings in a configuration directory, from the source that the broker uses."""
    for kind in [kind for kind in _KINDS if kind.name in kinds]:
        sources = [] if config is None else _sources(config, kind)
        if not sources:
            continue
        used = max(sources, key=lambda source: source.changed)
        for source in sources:
            if source.settings != used.settings:
                _say_left_behind(source.uri, used.uri, kind.name)
        for name, values in used.settings.items():
            yield NamedSettings(used.uri, kind.name, printable(name), values if isinstance(values, dict) else None)


@lru_cache(maxsize=256)
def _say_left_behind(uri: str, used: str, kind: str) -> None:
    """Once in a process."""
    warn(_log, say("settings elsewhere", uri=uri, settings=Said(f"settings of {kind}"), used=used))


def _sources(config: str, kind: _Kind) -> list[_Source]:
    sources = list(_in_databases(config, kind))
    beside = next((source.uri for source in sources if source.settings), None)
    if (file := read_config(config, kind.file, kind.table, beside=beside)) is not None:
        settings = _joined(file.table(kind.table), file.table("forbiddenTable"))
        sources.append(_Source(file.uri, _changed(file.content.get("dataVersion")), settings))
    return sources


def _in_databases(config: str, kind: _Kind) -> Iterator[_Source]:
    if is_database(uri := f"{config}/rdb"):
        with open_database(uri) as database:
            items = [(name_in(key, kind.prefix), value) for key, value in database.few_items(kind.prefix)]
        settings = {name: _value(f"{uri}, {kind.name} {name}", json_in(value)) for name, value in items}
        yield _Source(uri, _LATEST if settings else 0, settings)
    for uri, family, versions in (
        (f"{config}/metadata", kind.family, f"{kind.family}Version"),
        (f"{config}/{kind.database}", "default", "kvDataVersion"),
    ):
        if is_database(uri):
            with open_database(uri) as database:
                own, forbidden, version = (dict(_named(database, each)) for each in (family, FORBIDDEN, versions))
            yield _Source(uri, _changed(version.get(_VERSION)), _joined(own, forbidden if kind.name == GROUP else {}))


def _joined(settings: Mapping[str, Any], forbidden: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with what each group may not read. A group can have only that."""
    return {name: _with_forbidden(settings.get(name, {}), forbidden.get(name)) for name in {**settings, **forbidden}}


def _changed(version: Any) -> int:
    """The time in a version; 0 if it has none."""
    time = version.get("timestamp") if isinstance(version, dict) else None
    return time if type(time) is int else 0


def _named(database: Database, family: str) -> Iterator[tuple[str, Any]]:
    for key, value in database.few_items(family=family):
        name = key.decode("utf-8", "replace")
        yield name, _value(f"{database.uri}, entry {name}", value)


def _value(where: str, text: bytes) -> Any:
    try:
        return parse(text)
    except NotFastjson as error:
        raise StoreDamaged(say("value not json", where=where, position=error.position, expected=error.expected)) from error


def _with_forbidden(value: Any, forbidden: Any) -> Any:
    return value | {FORBIDDEN: forbidden} if isinstance(value, dict) and forbidden else value


def _topic_config(values: Mapping[str, Any]) -> TopicConfig:
    numbers = [values.get(each) for each in ("readQueueNums", "writeQueueNums", "perm")]
    reads, writes, perm = (number if type(number) is int and abs(number) < _MOST_INT32 else None for number in numbers)
    attributes = values.get("attributes")
    texts = {
        printable(name): printable(value)
        for name, value in (attributes.items() if isinstance(attributes, dict) else ())
        if isinstance(value, str)
    }
    return TopicConfig(reads, writes, perm, texts)


_MOST_QUEUES = 1 << 16
_TYPE, _OF_BATCHES = "queue.type", "BatchCQ"


class Topics:
    """The topics in a configuration directory, and which of them hold inner batches (5.0 and later).

    Empty if the configuration is missing, or cannot be read.
    """

    def __init__(self, directory: str | None) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        """All topics with a printable name."""
        return [name for name in self._table if name.isprintable()]

    @property
    def is_known(self) -> bool:
        """Whether there are settings, also if they cannot be read or name no topic."""
        return self._directory is not None and bool(self._table or (not self._is_database and self._text.strip()))

    def has(self, name: str) -> bool:
        """Whether that topic is there. A file is searched for the name without parsing: a broker may have thousands of topics."""
        if self._is_database:
            return name in self._table
        quoted = re.escape(json.dumps(name, ensure_ascii=False).encode("utf-8", "replace"))
        return re.search(rb'"topicName"\s*:\s*' + quoted, self._text) is not None

    def queues_of(self, name: str) -> int:
        """The number of queues of that topic; 0 if unknown."""
        topic = self._table.get(name)
        counts = [topic.get(each) for each in ("readQueueNums", "writeQueueNums")] if isinstance(topic, dict) else []
        return max((count for count in counts if isinstance(count, int) and 0 <= count <= _MOST_QUEUES), default=0)

    def of_batches(self) -> frozenset[str]:
        """The topics that may contain inner batches."""
        is_whole = not self._is_database and self._text.rstrip().endswith(b"}")
        if is_whole and _OF_BATCHES.encode() not in self._text:
            return frozenset()
        return frozenset(name for name, each in self._table.items() if _attributes_of(each).get(_TYPE) == _OF_BATCHES)

    @cached_property
    def _text(self) -> bytes:
        return config_text(self._directory, _FILE)

    @cached_property
    def _is_database(self) -> bool:
        return self._directory is not None and any(is_database(f"{self._directory}/{name}") for name in ("rdb", "metadata", "topics"))

    @cached_property
    def _table(self) -> Mapping[str, Any]:
        try:
            if self._is_database:
                return {each.name: each.values for each in settings_in(self._directory, (TOPIC,))}
            file = read_config(self._directory, _FILE, _TABLE)
        except (StoreDamaged, UnreadableError):  # callers work without it
            return {}
        return {} if file is None else file.table(_TABLE)


def _attributes_of(topic: Any) -> Mapping[str, Any]:
    attributes = topic.get("attributes") if isinstance(topic, dict) else None
    return attributes if isinstance(attributes, dict) else {}
