"""Which topics of the log were deleted: they have records, but neither queues nor a configuration.

A store proves it only if at least one topic has queues, and all databases of queues and the configuration, if there is one, can be
read. A deleted topic can have an empty directory: 4.x leaves it. Old queue files of a broker that was changed to RocksDB do not
count. System topics are made by the broker itself, and never deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from threading import Lock

from native_reader.broker.settings import topic_configs
from native_reader.errors import StoreDamaged, UnreadableError
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Topic, numbers_of, topics_in
from native_reader.storage.rocksdb_queues import database_of, is_in_database, why_unreadable
from native_reader.storage.store import StoreFiles


class DeletedTopics:
    """Decides it for one store. Queues and configuration are listed on first use."""

    def __init__(self, directories: Sequence[str], config: str | None) -> None:
        self._directories, self._config = tuple(directories), config
        self._listing = Lock()
        self._known: dict[str, bool] = {}

    def __reduce__(self) -> tuple[type[DeletedTopics], tuple[tuple[str, ...], str | None]]:
        return DeletedTopics, (self._directories, self._config)

    @cached_property
    def can_tell(self) -> bool:
        """Whether the store has what is needed to decide."""
        return bool(self._topics) and self.is_readable

    @cached_property
    def is_readable(self) -> bool:
        """Whether the configuration and the databases of queues can be read, as far as the store has them."""
        databases = [database for each in self._directories if (database := database_of(each)) is not None]
        return self._configured is not None and not any(map(why_unreadable, databases))

    def has(self, topic: str | None) -> bool:
        """Whether a topic that has records in the log was deleted. False if the store does not prove it."""
        if topic is None:
            return False
        with self._listing:  # threads ask at the same time, and thousands of queues take long to list
            if topic not in self._known:
                self._known[topic] = self.can_tell and self._is_gone(topic)
            return self._known[topic]

    def among(self, topics: Iterable[str | None]) -> list[str]:
        """Those of the topics that were deleted, sorted."""
        return sorted(topic for topic in {topic for topic in topics if topic is not None} if self.has(topic))

    def _is_gone(self, topic: str) -> bool:
        if kind_of_topic(topic) in SYSTEM_KINDS or topic in (self._configured or ()) or not topic.isprintable():
            return False
        try:
            return not any(numbers_of(each, strict=True) for each in self._topics.get(topic, ()) if self._counts(each))
        except OSError:  # it has a directory, which cannot be read
            return False

    def _counts(self, topic: Topic) -> bool:
        """Whether a directory of queues is one that the broker maintains."""
        return is_in_database(topic.uri) or not self._files_are_left_behind

    @cached_property
    def _files_are_left_behind(self) -> bool:
        """Whether a database has more of a queue that is also in files. The first queue in which they differ tells."""
        copies = QueueCopies(self._directories)
        for topic in (each for topics in self._topics.values() if len(topics) > 1 for each in topics if not is_in_database(each.uri)):
            for number in numbers_of(topic):
                order = copies.compare(topic.name, number)
                if order:
                    return order < 0
        return False

    @cached_property
    def _topics(self) -> Mapping[str, Sequence[Topic]]:
        """The directories of each topic. There can be two: one with batches."""
        found: dict[str, list[Topic]] = {}
        for each in topics_in(self._directories):
            found.setdefault(each.name, []).append(each)
        return found

    @cached_property
    def _configured(self) -> frozenset[str] | None:
        """The configured topics; None if the configuration cannot be read."""
        try:
            return frozenset(topic_configs(self._config))
        except (StoreDamaged, UnreadableError):
            return None


class DeletedInAll:
    """Which topics were deleted in each of several stores: a row about all of them does not say whose records it counts."""

    def __init__(self, stores: Iterable[StoreFiles]) -> None:
        self._stores = [DeletedTopics(store.queues, store.config) for store in stores if store.segments]

    def has(self, topic: str | None) -> bool | None:
        """Whether it was deleted in all stores; None if one does not tell."""
        if not self._stores or not all(store.can_tell for store in self._stores):
            return None
        return all(store.has(topic) for store in self._stores)
