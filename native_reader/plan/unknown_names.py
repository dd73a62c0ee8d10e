"""Names in a condition that the stores do not have, so that it may match nothing: warnings, because topics get deleted, or errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from native_reader.broker.settings import Topics
from native_reader.errors import OptionError, nearest, option_name, warn
from native_reader.plan.ways import TRUST
from native_reader.predicate.tree import And, Column, Compare, Not, Or, Predicate, values_of
from native_reader.sentences import Said, joined, meant, say, verbatim
from native_reader.sides.bounds import bounds_of, has_queues
from native_reader.sides.deleted import DeletedTopics
from native_reader.sides.queues import is_name, numbers_of, queue_at, topics_in
from native_reader.storage.store import StoreFiles

_log = logging.getLogger("native_reader")
_IDS = "uniq_key", "msg_id", "offset_msg_id"
_HEX_ID = re.compile("(?i:[0-9A-F]{32}|[0-9A-F]{56}|01[0-9A-F]{32})")
_MOST_SAID = 3
"""Missing topics that an error names."""
_MOST_TOPICS = 256
"""With more topics than this, queue numbers are not checked."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """One warning. `topic`: the unknown topic, if it is about one. `always`: warn even if the read returned rows.

    `near`: what may be meant instead.
    """

    said: Said | None
    topic: str | None = None
    always: bool = False
    near: str = ""

    def after(self, predicate: Predicate) -> Said | None:
        """The warning for a read that returned no rows; None if nothing is known."""
        if self.topic is None or any(column.name != "topic" for column in predicate.columns()):
            return None if self.said is None else say("no row matches", why=self.said)
        if self.near:
            return say("no record of topic near", topic=repr(self.topic), near=self.near)
        return say("no record of topic", topic=repr(self.topic))


def doubts_of(stores: Sequence[StoreFiles], predicate: Predicate) -> list[Doubt]:
    """The warnings about a condition."""
    known, (conditions, bounds) = _KnownTopics(stores), _split(predicate)
    topics = list(dict.fromkeys(_values("topic", conditions)))
    doubts = [_of_topic(known, name, is_only=len(topics) == 1) for name in topics if not known.has(name)]
    doubts += [Doubt(said) for said in _of_queues(known, topics, list(dict.fromkeys(_values("queue_id", conditions))))]
    doubts += [Doubt(said) for said in _of_tags(_values("tags", conditions))]
    doubts += [Doubt(said) for said in _of_ids(conditions)]
    return [*doubts, *(Doubt(said, always=True) for said in _of_bounds(known, bounds))]


def log_doubts(stores: Sequence[StoreFiles], predicate: Predicate, access: str, rows: int) -> None:
    """After a complete read, log why it may have returned no rows, or more than intended."""
    conditions, bounds = _split(predicate)
    if rows and not bounds and len(set(_values("topic", conditions))) <= 1:
        return
    for doubt in doubts_of(stores, predicate):
        if not rows and (said := doubt.after(predicate)):
            said = say("trust and deleted", what=said) if doubt.topic and access == TRUST else said
            warn(_log, said, is_unknown=True)
        elif rows and doubt.always and doubt.said is not None:
            warn(_log, doubt.said)


def outside_of_queue(stores: Sequence[StoreFiles], topic: str, queue_id: int, offset: int) -> Iterator[Said]:
    """Which queue offsets a queue lists, by store, where this is not one of them."""
    for store in stores if is_name(topic) else ():
        try:
            queues = [queue_at(directory, topic, queue_id, strict=True) for directory in store.queues]
            held = [queue for queue in queues if queue.files]
            bounds = bounds_of(held[0], store.first_record) if len(held) == 1 else None  # of copies, either may be the one that counts
        except OSError:  # the read itself says what it could not read
            continue
        if bounds is None or bounds.min_offset <= offset < bounds.max_offset:
            continue
        first, following, of = bounds.min_offset, bounds.max_offset, {"queue": str(queue_id), "topic": repr(topic)}
        if first < following:
            said = say("queue lists", **of, first=first, last=following - 1)
        else:
            said = say("queue lists none", **of, next=following)
        yield say("at", place=store.uri, what=said) if len(stores) > 1 else said


def check_topics(stores: Sequence[StoreFiles], predicate: Predicate, advice: str) -> None:
    """Raise an error for a topic that every row must have, if each store has queues or settings and none of them has this topic.

    The log is not searched: that is what the read itself would do. So a deleted topic is an error, too.
    """
    known = _KnownTopics(stores)
    missing = [name for name in dict.fromkeys(_required_topics(predicate)) if not known.has(name)]
    if missing and all(map(_knows_its_topics, stores)):
        said = [_of_topic(known, name, is_only=True).said for name in missing[:_MOST_SAID]]
        raise OptionError(joined("topics together", [each for each in (*said, verbatim(advice) if advice else None) if each is not None]))


def _knows_its_topics(store: StoreFiles) -> bool:
    return bool(_KnownTopics([store]).names) and DeletedTopics(store.queues, store.config).is_readable


def _required_topics(predicate: Predicate) -> tuple[Any, ...]:
    """The topics that `=` or IN name, if each row must have one of them; else none."""
    match predicate:
        case And(parts):
            return tuple(name for part in parts for name in _required_topics(part))
        case Or(parts):
            choices = [_required_topics(part) for part in parts]
            return tuple(name for each in choices for name in each) if all(choices) else ()
    return values_of(predicate, "topic")


class _KnownTopics:
    """The topics that are in the queues or in the configuration."""

    def __init__(self, stores: Sequence[StoreFiles]) -> None:
        self._queues = [directory for store in stores for directory in store.queues]
        self._configured = [Topics(store.config) for store in stores]
        self._names: list[str] | None = None

    def has(self, name: str) -> bool:
        """Whether one of them has it; True if they cannot be read."""
        try:
            return any(has_queues(directory, name) for directory in self._queues) or any(each.has(name) for each in self._configured)
        except OSError:
            return True

    @property
    def names(self) -> list[str]:
        if self._names is None:
            queues = (topic.name for topic in topics_in(self._queues))
            self._names = sorted({*queues, *(name for each in self._configured for name in each.names())})
        return self._names

    def with_queues(self) -> list[str]:
        """The topics that have queues. The configuration also lists topics with a thousand unused queues."""
        return sorted({topic.name for topic in topics_in(self._queues)})

    def numbers(self, names: Iterable[str]) -> set[int]:
        """The queue numbers that those topics have, or may have."""
        wanted = set(names)
        existing = {number for topic in topics_in(self._queues) if topic.name in wanted for number in numbers_of(topic)}
        return existing | {number for each in self._configured for name in wanted for number in range(each.queues_of(name))}


def _split(predicate: Predicate) -> tuple[list[Predicate], list[tuple[str, int]]]:
    """The conditions on rows, and the queues that have offset bounds."""
    conditions: list[Predicate] = []
    bounds: list[tuple[str, int]] = []
    for part in predicate.parts if isinstance(predicate, And) else (predicate,):
        match part:
            case Not(
                And(
                    (
                        Compare(Column("topic"), "=", str(topic)),
                        Compare(Column("queue_id"), "=", int(queue)),
                        Compare(Column("queue_offset")),
                    )
                )
            ):
                bounds.append((topic, queue))
            case _:
                conditions.append(part)
    return conditions, bounds


def _wanted(predicate: Predicate) -> Iterator[Predicate]:
    """Its conditions, except those under a NOT: names that must not match need not exist."""
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _wanted(part)
        case Not():
            return
        case _:
            yield predicate


def _values(name: str, conditions: Iterable[Predicate]) -> Iterator[Any]:
    """The values that the conditions compare a column with, by = or IN."""
    return (value for part in conditions for leaf in _wanted(part) for value in values_of(leaf, name))


def _of_topic(known: _KnownTopics, name: str, is_only: bool) -> Doubt:
    if not known.names:
        return Doubt(None, name)  # no names to compare with: warn only if no row matches
    topic = repr(name)
    if set(name) & set("*?"):
        pattern = name if ".*" in name else name.replace("*", ".*").replace("?", ".")
        near = f"{option_name('topic_pattern')}='{pattern}'"
        return Doubt(say("doubt pattern", topic=topic, near=near), name, not is_only, near)
    if "," in name:
        near = f"topic={[part.strip() for part in name.split(',')]}"
        return Doubt(say("doubt comma", topic=topic, near=near), name, not is_only, near)
    known_name = nearest(name, known.names)
    said = say("doubt topic", topic=topic, near=meant(name, known.names))
    return Doubt(said, name, not is_only, f"'{known_name}'" if known_name else "")


def _of_queues(known: _KnownTopics, topics: Sequence[str], queue_ids: Sequence[int]) -> Iterator[Said]:
    names = [name for name in topics if known.has(name)] if topics else known.with_queues() if queue_ids else []
    if not queue_ids or not names or len(names) > _MOST_TOPICS:
        return
    numbers = known.numbers(names)
    if not numbers:
        return
    of = joined("commas", [say("topic named", topic=repr(name)) for name in names[:3]]) if topics else Said("the store")
    for each in queue_ids:
        if each not in numbers:
            yield say("doubt queue", option=option_name("queue_id"), queue=str(each), of=of, largest=str(max(numbers)))


def _of_tags(tags: Iterable[str]) -> Iterator[Said]:
    for tag in tags:
        if "," in tag:
            yield say("doubt tag", tag=repr(tag), either=" || ".join(part.strip() for part in tag.split(",")))


def _of_ids(conditions: Iterable[Predicate]) -> Iterator[Said]:
    for name, text in [each for part in conditions for each in _ids_in(part)]:
        named = verbatim(name) if name == _OPTION else say("column named", column=name)
        if not _HEX_ID.fullmatch(text):
            yield say("doubt id", name=named, text=repr(text))
        elif name != _OPTION and len(text) != 34 and text != text.upper():
            yield say("doubt case", name=named, text=repr(text), upper=repr(text.upper()), option=_OPTION)


_OPTION = option_name("msg_id")


def _ids_in(part: Predicate) -> Iterator[tuple[str, str]]:
    """Columns and the ids they are compared with. The option `msg_id` compares two columns."""
    match part:
        case Or((of_client, Compare(Column("offset_msg_id"), "=", _))) if texts := values_of(of_client, "uniq_key"):
            yield _OPTION, str(texts[0])
        case _:
            for name in _IDS:
                yield from ((name, text) for text in _values(name, [part]) if isinstance(text, str))


def _of_bounds(known: _KnownTopics, bounds: Iterable[tuple[str, int]]) -> Iterator[Said]:
    """Offsets for a queue that does not exist have no effect, so the read returns more than intended."""
    queues: dict[str, set[int]] = {}
    for topic, number in bounds:
        queues.setdefault(topic, set()).add(number)
    if not queues or not known.names:
        return
    names = f"{option_name('starting_offsets')}, {option_name('ending_offsets')}"
    for topic, numbers in queues.items():
        if not known.has(topic):
            yield say("doubt bounds", options=names, topic=repr(topic), near=meant(topic, known.names))
        elif (existing := known.numbers([topic])) and (unknown := sorted(numbers - existing)):
            yield say("doubt bound", options=names, topic=repr(topic), queue=str(unknown[0]))
