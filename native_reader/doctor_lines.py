"""What the facts of a diagnosis say, a line for each part of the store; `doctor_texts` has the sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from native_reader.text import Said, joined, names_of, say, size_of, verbatim

Facts = dict[str, Any]
Time = Callable[[datetime], str]
"""How a time is written."""

STORE, LOG, QUEUES, INDEX, CONFIG, STATE = "store", "commitlog", "consumequeue", "index", "config", "state"
DATABASES = "rocksdb"
OLDER = "older_than_log"
MOST = 5
"""Names and problems shown of each kind."""


def _about_store(facts: Facts, signs: Sequence[Said], time: Time) -> Iterator[Said]:
    yield verbatim(facts["uri"])
    yield say("at least", version=facts["version_at_least"], because=joined("semicolons", signs)) if signs else say("no sign")


def _about_log(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    size = say("size of log", segments=facts["segments"], size=size_of(facts["bytes"]))
    place = _places(facts["directories"]) if facts["directories"] else say("no segments")
    yield say("at", place=place, what=_with_period(size, facts["first_store_timestamp"], facts["last_store_timestamp"], time))


def _about_queues(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    what = say("queues of topics", queues=facts["queues"], topics=facts["topics"])
    if facts["light_queues"]:
        what = say("and light", what=what, light=facts["light_queues"])
    if facts[OLDER]:
        what = say("and older", what=what, older=_older(facts[OLDER]))
    yield say("at", place=_places(facts["directories"]), what=what) if facts["directories"] else say("none")


def _older(by_topic: Mapping[str, int]) -> Said:
    """That queues name records from before the log. The files do not show who deleted those."""
    names = names_of([f"{topic} {count:,}" for topic, count in by_topic.items()], MOST)
    return say("older", records=sum(by_topic.values()), names=names)


def _about_index(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    size = say("size of index", files=facts["files"], keys=facts["entries"])
    files = _with_period(size, facts["begin_timestamp"], facts["end_timestamp"], time)
    places = [say("at", place=facts["directory"], what=files)] if facts["directory"] else []
    places += [say("in rocksdb", place=facts["database"])] if facts["database"] else []
    yield joined("semicolons", places) if places else say("none")


def _about_databases(facts: Facts, contents: Sequence[Said], time: Time) -> Iterator[Said]:
    found = zip(facts["databases"], contents, strict=True)
    yield joined("semicolons", [say("at", place=each["directory"], what=what) for each, what in found])


def _about_config(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    yield verbatim(facts["directory"]) if facts["directory"] else say("none")


def _about_state(facts: Facts, words: Sequence[Said], time: Time) -> Iterator[Said]:
    yield say("in use" if facts["in_use"] else "at rest")


def _places(directories: Sequence[str]) -> Said:
    return joined("commas", list(map(verbatim, directories)))


def _with_period(what: Said, first: datetime | None, last: datetime | None, time: Time) -> Said:
    return what if first is None or last is None else say("period", what=what, first=time(first), last=time(last))


WRITERS: dict[str, tuple[str, Callable[[Facts, Sequence[Said], Time], Iterator[Said]]]] = {
    STORE: ("store", _about_store),
    LOG: ("commitlog", _about_log),
    QUEUES: ("queues", _about_queues),
    INDEX: ("index", _about_index),
    CONFIG: ("config", _about_config),
    DATABASES: ("rocksdb", _about_databases),
    STATE: ("state", _about_state),
}
"""By part, in the order of the lines: its label, and what it says; the store has a second line, the version."""
