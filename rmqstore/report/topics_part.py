"""The records by topic: a plain table of a few topics, and one of all topics that can be searched and sorted if there are more."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from native_reader.facts import Tally
from rmqstore.report.blocks import TOP, name, ranking
from rmqstore.report.listing import COUNT, NAME, SHARE, SIZE, TIME, Column, listing
from rmqstore.report.markup import Markup, element, joined, shortened
from rmqstore.report.words import Words
from rmqstore.text import safe

_SIZE = 2
"""The column that is sorted first."""


def has_more(topics: Tally) -> bool:
    """Whether there are topics that a plain table leaves out."""
    found = topics.table()
    return found is not None and len(found) > TOP


def topic_name(words: Words, topic: object, deleted: Collection[object]) -> Markup:
    """A topic, with a mark if it was deleted."""
    mark = element("span", words.say("deleted"), class_="mark") if topic in deleted else None
    return joined(name(words, topic), None if mark is None else " ", mark)


def largest_topics(words: Words, topics: Tally, whole: int, deleted: Collection[object] = ()) -> Markup:
    """The largest topics, and the sums of the others. `whole`: the bytes of all records; `deleted`: topics to be marked so."""
    return ranking(words, topics.top(TOP), whole, ("topic",), lambda row: [topic_name(words, row["topic"], deleted)])


def all_topics(words: Words, topics: Tally, whole: int, zone_name: str, deleted: Collection[object] = ()) -> Markup:
    """The same for a reader without scripts, and all topics for the others."""
    largest, found = largest_topics(words, topics, whole, deleted), topics.table()
    if found is None or not has_more(topics):
        return largest
    names, gone = found["topic"].to_pylist(), frozenset(deleted)
    columns = [
        Column(words.say("topic"), NAME, [shortened(safe(each)) if each else words.say("no_name") for each in names]),
        Column(words.say("messages"), COUNT, found["messages"].to_pylist()),
        Column(words.say("size"), SIZE, found["bytes"].to_pylist()),
        Column(words.say("share"), SHARE, _SIZE),
        Column(words.say("largest"), SIZE, found["largest"].to_pylist()),
        Column(words.say("last_column"), TIME, _minutes(words, found["last"])),
    ]
    marks = {row: words.say("deleted") for row, each in enumerate(names) if each in gone}
    return listing(
        words, largest, columns, sorted_by=_SIZE, whole=whole, marks=marks, unlisted=topics.forgotten_groups, zone_name=zone_name
    )


def _minutes(words: Words, times: pa.ChunkedArray) -> list[int | None]:
    return [words.minutes_there(time) for time in times.to_pylist()]
