"""The page about several brokers: all of them in one table, then each as on a page of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from native_reader.facts import Facts, LagOfGroups, Problem, Tally
from native_reader.start import BETTER_NOT, BUT, NO, UNKNOWN, YES
from native_reader.text import number_of, size_of
from rmqstore.report.blocks import NUMBER, TEXT, TOP, name, note, part, ranking, section, table, times_in
from rmqstore.report.frame import contents, framed
from rmqstore.report.markup import Markup, element, shortened
from rmqstore.report.page import HEADER, SECTIONS, made
from rmqstore.report.side_sections import groups_behind
from rmqstore.report.words import Words

_COLUMNS = (
    *(("broker", TEXT), ("start_column", TEXT), ("damage_column", NUMBER), ("disk_column", NUMBER), ("messages", NUMBER)),
    *(("last_column", TEXT), ("lag_column", NUMBER), ("dead", NUMBER)),
)
_ANSWERS = {NO: "start_no", BETTER_NOT: "start_better_not", BUT: "start_but", YES: "start_yes", UNKNOWN: "start_unknown"}


def page_of_brokers(brokers: Mapping[str, Facts], language: str, title: str | None = None) -> str:
    """The page as HTML, likewise well-formed and the same for the same facts. `brokers`: by name, with the same settings."""
    all_facts = list(brokers.values())
    words = Words(language, all_facts[0].settings.zone)
    title = title or words.say("title_brokers", count=len(brokers))
    links = [(f"b{number}", broker) for number, broker in enumerate(brokers, 1)]
    listed = [("brokers", words.say("brokers")), *((link, shortened(broker)) for link, broker in links), ("made", words.say("made"))]
    body = element(
        "body",
        element("header", element("h1", title)),
        contents(words.say("contents"), listed),
        element(
            "main",
            _together(brokers, words),
            *(_broker(link, broker, brokers[broker], words) for link, broker in links),
            made(all_facts, words),
        ),
    )
    return framed(title, language, body)


def _broker(link: str, broker: str, facts: Facts, words: Words) -> Markup:
    """What a page of its own would have, one level lower."""
    inner = Words(words.language, words.zone, link)
    return element(
        "section",
        element("h2", shortened(broker)),
        *(make(facts, inner) for make in HEADER),
        contents(shortened(broker), ((inner.id(key), words.say(key)) for key in SECTIONS)),
        *(make(facts, inner) for make in SECTIONS.values()),
        id=link,
        class_="broker",
    )


def _together(brokers: Mapping[str, Facts], words: Words) -> Markup:
    all_facts = list(brokers.values())
    topics, lag = _topics(all_facts), _lag(all_facts)
    return section(
        words,
        "brokers",
        table([(words.say(key), style) for key, style in _COLUMNS], [_row(broker, facts, words) for broker, facts in brokers.items()]),
        times_in(words, all_facts[0].settings.zone_name),
        part(words, "lag_of_all", groups_behind(lag, words)) if lag.offsets else None,
        part(
            words,
            "topics_of_all",
            ranking(words, topics.top(TOP), topics.totals()["bytes"], ("topic",), lambda row: [name(words, row["topic"])]),
            note(words.say("disk_note")),
        ),
    )


def _row(broker: str, facts: Facts, words: Words) -> list[str]:
    usage, lag, dead = facts.usage, facts.lag, facts.dead
    unknown = words.say("not_read")
    return [
        name(words, broker),
        unknown if facts.start is None or isinstance(facts.start, Problem) else words.say(_ANSWERS[facts.start.outcome]),
        size_of(facts.damaged_bytes),
        size_of(usage.total) if usage.is_whole else words.say("at_least", size=size_of(usage.total)),
        number_of(facts.log.messages),
        words.time(facts.log.last),
        number_of(lag.groups.totals()["lag"]) if isinstance(lag, LagOfGroups) else unknown,
        number_of(dead.totals()["messages"]) if isinstance(dead, Tally) else unknown,
    ]


def _topics(all_facts: Sequence[Facts]) -> Tally:
    """The sums by topic over all brokers."""
    found = Tally(("topic",), ("bytes", "messages", "records"))
    for facts in all_facts:
        if (topics := facts.log.places.by("topic").table()) is not None:
            found.add(topics)
    return found


def _lag(all_facts: Sequence[Facts]) -> LagOfGroups:
    """The sums by group and topic over all brokers, as far as their offsets could be read."""
    found = LagOfGroups()
    for each in (facts.lag for facts in all_facts):
        if isinstance(each, LagOfGroups) and (groups := each.groups.table()) is not None:
            found.groups.add(groups)
            found.offsets += each.offsets
    return found
