"""Topics and consumer offsets against the queues: each topic of the log has its settings and its queues, each offset is in its queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from native_reader.broker.config_files import has_file, is_newest_read, without
from native_reader.broker.consumer_offsets import GroupOffset, offsets_in
from native_reader.broker.databases import has_settings
from native_reader.broker.missing_settings import DELAYS, GROUPS, OFFSETS, missing_settings
from native_reader.broker.settings import topic_configs
from native_reader.errors import StoreDamaged, UnreadableError
from native_reader.layout.kinds import kind_of_topic
from native_reader.layout.queue_entry import is_light
from native_reader.sentences import Said, say
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles
from native_reader.text import names_of
from native_reader.witness.contradiction import (
    FOREIGN_TOPICS,
    NO_DELAYS,
    NO_GROUPS,
    NO_OFFSETS,
    OFFSETS_PAST,
    UNLISTED,
    Contradiction,
    contradiction,
)
from native_reader.witness.entries import Sample
from native_reader.witness.logged import Logged, Place

_MOST = 5
_EFFECTS = {OFFSETS: NO_OFFSETS, GROUPS: NO_GROUPS, DELAYS: NO_DELAYS}


class Settings:
    """What the configuration of a store says, against its queues and the records that were seen."""

    def __init__(self, store: StoreFiles, samples: Sequence[Sample], logged: Logged) -> None:
        self._store, self._logged = store, logged
        self._begins = _first_offsets(samples)
        self._queues = {(each.queue.topic, each.queue.queue_id): each for each in samples}
        self._topics = {topic for topic, _ in self._queues if not is_light(topic)}
        self._with_entries = {topic for (topic, _), sample in self._queues.items() if sample.end > 0}
        self._configured = _configured(store)
        self._offsets = _offsets(store)

    def contradictions(self) -> Iterator[Contradiction]:
        """What contradicts. Without any queue, a broker makes them again: that is another question."""
        if any(sample.entries or sample.end for sample in self._queues.values()):
            yield from self._unlisted()
            yield from self._foreign_topics()
            if self._logged.knows_ends():
                yield from self._offsets_past_the_end()
        yield from self._missing()

    def _unlisted(self) -> Iterator[Contradiction]:
        """Queues without a folder. A topic without settings and queues was deleted.

        One that was deleted and made again can have fewer queues: what is before the records of its queues is of the deleted one.
        """
        gone = Counter[Place]()
        for place in filter(self._is_gone, self._logged.offsets):
            begin = self._begins.get(place[0], -1)
            gone[place] = sum(offset > begin for offset in self._logged.offsets[place])
        gone += Counter()  # only those that have any
        consumed = {(each.topic, each.queue_id) for each in self._offsets if each.committed and each.queue_id is not None}
        consumed = {place for place in consumed if place[0] not in self._topics}
        if self._store.begins == 0:  # else its records can have expired, and a broker deletes such a queue
            gone.update({place: 0 for place in consumed if place not in gone and self._is_gone(place)})
        by_topic: dict[str, list[Place]] = {}
        for place in sorted(gone):
            by_topic.setdefault(place[0], []).append(place)
        for topic, places in by_topic.items():
            messages = sum(gone[place] for place in places)
            values: dict[str, int | str | Said] = {
                "topic": topic,
                "messages": messages,
                "queues": names_of([str(queue) for _, queue in places], _MOST),
                "count": len(places),
            }
            kind = "queues gone" if self._logged.is_whole and messages else "queues gone seen" if messages else "queues gone consumed"
            yield Contradiction(UNLISTED, say(f"witness {kind}", **values), messages)

    def _is_gone(self, place: Place) -> bool:
        topic, _ = place
        is_known = topic in self._topics or (self._configured is not None and topic in self._configured)
        return place not in self._queues and is_known and topic.isprintable() and not self._may_be_there(place)

    def _may_be_there(self, place: Place) -> bool:
        """Whether a queue has a folder after all: this user may not list it, or not that of its topic."""
        topic, queue = place
        for directory in self._store.queue_directories:
            storage = storage_of(directory)
            try:
                if storage.entry(f"{directory}/{storage.quoted(topic)}/{queue}") is not None:
                    return True
            except OSError:
                return True
        return False

    def _foreign_topics(self) -> Iterator[Contradiction]:
        own = {topic for topic in self._topics if kind_of_topic(topic) is None and self._has_entries(topic)}
        if self._configured is None or not own or own & set(self._configured):
            return
        if not is_newest_read(self._store.config):
            return
        theirs = sorted(topic for topic in self._configured if kind_of_topic(topic) is None)
        values: dict[str, int | str | Said] = {"topics": len(own), "names": names_of(sorted(own), _MOST)}
        if self._configured and theirs:
            found = say("witness foreign topics", others=names_of(theirs, _MOST), **values)
        else:
            found = say("witness no settings of topics", **values)
        yield Contradiction(FOREIGN_TOPICS, found, len(own))

    def _has_entries(self, topic: str) -> bool:
        return topic in self._with_entries

    def _offsets_past_the_end(self) -> Iterator[Contradiction]:
        past: dict[Place, int] = {}
        for each in self._offsets:
            sample = None if each.queue_id is None else self._queues.get((each.topic, each.queue_id))
            if sample is None or sample.queue.batch or sample.problem is not None or each.committed is None or not sample.end:
                continue
            place = sample.queue.topic, sample.queue.queue_id
            if (by := each.committed - max(sample.end, self._logged.ends.get(place, 0))) > 0:
                past[place] = max(past.get(place, 0), by)
        if past:
            names = names_of([f"{topic}/{queue}" for topic, queue in sorted(past)], _MOST)
            yield contradiction(OFFSETS_PAST, "offsets past", len(past), queues=len(past), names=names, messages=sum(past.values()))

    def _missing(self) -> Iterator[Contradiction]:
        """Files that are gone together with their backups. The file of topics is a reason of its own."""
        for name in missing_settings(self._store.config, lambda: self._with_entries):
            if name in _EFFECTS:
                yield Contradiction(_EFFECTS[name], without(name, say("file gone", name=f"{self._store.config}/{name}")))


def _first_offsets(samples: Sequence[Sample]) -> dict[str, int]:
    """Where the first record is that a queue of each topic names."""
    found: dict[str, int] = {}
    for entry in (sample.entries[0] for sample in samples if sample.entries):
        found[entry.topic] = min(entry.offset, found.get(entry.topic, entry.offset))
    return found


def _is_there(config: str, names: Collection[str]) -> bool:
    return any(has_file(config, name) for name in names)


def _configured(store: StoreFiles) -> Collection[str] | None:
    """The topics with settings; None if there are no settings, or they cannot be read."""
    config = store.config
    if config is None or not (has_settings(config) or _is_there(config, ("topics.json",))):
        return None
    try:
        return topic_configs(config)
    except (StoreDamaged, UnreadableError):
        return None


def _offsets(store: StoreFiles) -> list[GroupOffset]:
    try:
        return offsets_in(store.config)
    except (StoreDamaged, UnreadableError):
        return []
