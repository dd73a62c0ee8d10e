"""Which topics and queues there are, listed once for all splits of a read."""

from __future__ import annotations

from collections.abc import Sequence

from native_reader.sides.queues import Queue, Topic, queues_of, topics_in


class Directories:
    """Remembers what was listed.

    A queue file that a broker adds or deletes during a read is not noticed. Its records are then in bytes that no queue claims, or
    its entries are gone: either way they are scanned.
    """

    def __init__(self) -> None:
        self._topics: dict[tuple[str, ...], list[Topic]] = {}
        self._queues: dict[Topic, list[Queue]] = {}

    def topics(self, directories: Sequence[str]) -> list[Topic]:
        """As `topics_in`."""
        key = tuple(directories)
        if key not in self._topics:
            self._topics[key] = topics_in(key)
        return self._topics[key]

    def queues(self, topic: Topic) -> list[Queue]:
        """As `queues_of`."""
        if topic not in self._queues:
            self._queues[topic] = queues_of(topic)
        return self._queues[topic]
