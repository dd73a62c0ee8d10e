"""The sections about the log: over time, sizes, queue skew."""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from native_reader.facts import DAY, SIZES, Facts, Growth, LogFacts, Row, Tally, pace_of
from native_reader.layout.kinds import SYSTEM_KINDS
from native_reader.text import number_of
from rmqstore.report.blocks import NUMBER, SHARE, TEXT, TOP, area, name, note, part, section, share_cell, table, times_in
from rmqstore.report.markup import Markup, element
from rmqstore.report.words import Words

_MOST_STEPS = 240
_FAR = 3653 * DAY


def over_time(facts: Facts, words: Words) -> Markup:
    """The log over time, and when the disk is full."""
    log = facts.log
    width, series = log.times.series(_MOST_STEPS)
    wrong = note(words.say("wrong_times", messages=words.say("n_messages", count=log.wrong_times))) if log.wrong_times else None
    if not series:
        return section(words, "time", note(words.say("none")), wrong)
    title = words.say("time_chart", width=words.width(width), peak=words.size(max(size for _, size, _ in series)))
    last = series[-1][0] + width
    marks = [words.time(series[0][0]), words.time((series[0][0] + last) // 2), words.time(last)]
    figure = element(
        "figure",
        element("figcaption", title),
        area([size for _, size, _ in series], title),
        element("div", *(element("span", mark) for mark in marks), class_="axis"),
    )
    columns = ((words.say("from"), TEXT), (words.say("messages"), NUMBER), (words.say("size"), NUMBER))
    rows = [(words.time(start), number_of(count), words.size(size)) for start, size, count in series if count]
    details = element("details", element("summary", words.say("time_table")), table(columns, rows))
    zone = times_in(words, facts.settings.zone_name)
    return section(words, "time", figure, zone, details, wrong, *_growth(facts, words, pace_of(log)))


def _growth(facts: Facts, words: Words, pace: Growth | None) -> list[Markup]:
    if pace is None or facts.log.last is None:
        return [element("p", words.say("pace_short"))]
    found = [element("p", words.say("pace_whole", rate=words.size(pace.whole)))]
    if pace.recent is not None:
        found.append(element("p", words.say("pace_recent", rate=words.size(pace.recent))))
    free = facts.settings.free
    if free is None:
        return [*found, note(words.say("disk_unknown"))]
    left = free / pace.latest * DAY if pace.latest > 0 else float("inf")
    if left > _FAR:
        text = words.say("disk_full_far", free=words.size(free))
    else:
        when = words.time(facts.log.last + int(left))
        text = words.say("disk_full", free=words.size(free), time=words.duration(int(left)), when=when)
    return [*found, element("p", text), note(words.say("disk_full_assumptions"))]


def sizes(facts: Facts, words: Words) -> Markup:
    """Sizes of records."""
    log = facts.log
    whole = int(log.size_bytes.sum())
    labels = [*(words.say("up_to", size=words.size(size)) for size in SIZES), words.say("above", size=words.size(SIZES[-1]))]
    classes = zip(labels, log.size_records.tolist(), log.size_bytes.tolist(), strict=True)
    columns = ((words.say("record_size"), TEXT), (words.say("records"), NUMBER), (words.say("size"), NUMBER), (words.say("share"), SHARE))
    rows = [(label, number_of(count), words.size(size), share_cell(words, size, whole)) for label, count, size in classes if count]
    return section(
        words,
        "sizes",
        part(words, "by_size", table(columns, rows)),
        part(words, "by_topic", _largest(log.topics, words, ("topic",))),
        part(words, "largest_by_host", _largest(log.hosts, words, ("born_host", "topic"))),
    )


def _largest(tally: Tally, words: Words, keys: tuple[str, ...]) -> Markup:
    """The groups with the largest records."""
    titles = {"born_host": "host", "topic": "topic"}
    found = tally.table()
    rows: list[Row] = []
    if found is not None:
        rows = found.sort_by([("largest", "descending"), *((key, "ascending") for key in keys)]).slice(0, TOP).to_pylist()
    columns = [*((words.say(titles[key]), TEXT) for key in keys)]
    columns += [(words.say(key), NUMBER) for key in ("messages", "mean", "largest")]
    lines = []
    for row in rows:
        mean = int(str(row["bytes"])) / max(1, int(str(row["records"])))
        figures = (number_of(row["messages"]), words.size(mean), words.size(int(str(row["largest"]))))
        lines.append([*(name(words, row[key]) for key in keys), *figures])
    return table(columns, lines)


class Skew(NamedTuple):
    """How the messages of one topic are spread over its queues."""

    topic: str
    queues: int
    fullest: int
    messages: int
    mean: float

    @property
    def excess(self) -> float:
        """How many messages the fullest queue has above the mean."""
        return self.messages - self.mean


def skews(log: LogFacts) -> list[Skew]:
    """The topics of users with several queues, most messages above the mean first."""
    found = log.places.table()
    by_topic: dict[str, dict[int, int]] = {}
    for row in () if found is None else found.select(["topic", "queue_id", "kind", "messages"]).to_pylist():
        if row["kind"] not in SYSTEM_KINDS:
            queues = by_topic.setdefault(row["topic"] or "", {})
            queues[row["queue_id"]] = queues.get(row["queue_id"], 0) + row["messages"]
    several = [
        Skew(topic, len(queues), *max(sorted(queues.items()), key=itemgetter(1)), sum(queues.values()) / len(queues))
        for topic, queues in by_topic.items()
        if len(queues) > 1
    ]
    return sorted(several, key=lambda each: (-each.excess, each.topic))


def skew(facts: Facts, words: Words) -> Markup:
    """Queue skew."""
    found = skews(facts.log)
    keys = ("queues", "fullest", "in_fullest", "excess", "ratio")
    columns = [(words.say("topic"), TEXT), *((words.say(key), NUMBER) for key in keys)]
    rows = [
        (
            name(words, each.topic),
            number_of(each.queues),
            str(each.fullest),
            number_of(each.messages),
            number_of(round(each.excess)),
            f"{each.messages / each.mean:.2f}",
        )
        for each in found[:TOP]
    ]
    return section(words, "skew", note(words.say("skew_note")), table(columns, rows) if rows else note(words.say("none")))
