"""The page about one store or several brokers: all in one HTML file, without anything from a network.

Its one script is for the table of all topics. A page whose plain tables have all topics has none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from native_reader.export.manifest import version
from native_reader.facts import RESERVED, Facts, FirstFindings, LagOfGroups, Problem, Tally
from native_reader.start import BETTER_NOT, BUT, NO, UNKNOWN, YES
from native_reader.text import number_of
from rmqstore.report.blocks import NUMBER, TEXT, name, note, pairs, part, section, stacked, table, times_in
from rmqstore.report.damage_section import damage, damage_sentence, findings_sentence, start
from rmqstore.report.disk_section import deleted_topics, disk, on_disk
from rmqstore.report.frame import contents, framed
from rmqstore.report.listing import allowed_script, script
from rmqstore.report.log_sections import over_time, sizes, skew
from rmqstore.report.markup import Markup, element, filled, name_of, shortened
from rmqstore.report.side_sections import dead, groups_behind, lag, pending
from rmqstore.report.topics_part import all_topics, has_more
from rmqstore.report.words import Words

SECTIONS = {
    "disk": disk,
    "time": over_time,
    "sizes": sizes,
    "skew": skew,
    "lag": lag,
    "dead": dead,
    "pending": pending,
    "damage": damage,
}
"""In the order of the page."""


def page_of(facts: Facts, language: str, title: str | None = None) -> str:
    """The page as HTML, which is also well-formed XML. The same facts give the same page. Without a title, it is what is known."""
    words = Words(language, facts.settings.zone)
    title = title or words.say("title", name=name_and_host(facts))
    sections = [make(facts, words) for make in SECTIONS.values()]
    body = (
        element("header", element("h1", title), *(make(facts, words) for make in HEADER)),
        contents(words.say("contents"), ((key, words.say(key)) for key in (*SECTIONS, "made"))),
        element("main", *sections, made([facts], words)),
    )
    return _framed(title, words, body, has_more(facts.log.topics))


def _framed(title: str, words: Words, body: Sequence[Markup], has_script: bool) -> str:
    """The page; with the script only if it has a table of all topics."""
    if not has_script:
        return framed(title, words.language, element("body", *body))
    return framed(title, words.language, element("body", *body, script()), allowed_script())


def name_and_host(facts: Facts) -> str:
    """The broker, its cluster and its host, as far as they are known; the name of the directory of an unknown broker."""
    broker, cluster, host = facts.broker
    names = (broker or facts.uri.rstrip("/").rpartition("/")[2], cluster, host)
    return ", ".join(shortened(name) for name in names if name)


def _summary(facts: Facts, words: Words) -> Markup:
    log = facts.log
    common = {
        "size": words.size(facts.size),
        "segments": words.say("n_segments", count=len(facts.segments)),
        "damage": damage_sentence(facts, words),
    }
    if isinstance(facts.findings, FirstFindings):
        common["damage"] = words.say("two_sentences", first=common["damage"], second=findings_sentence(facts.findings, words))
    if not log.messages:
        return element("p", words.say("summary_empty", **common), class_="lead")
    topics = log.topics
    count = topics.top(0).groups
    text = words.say(
        "summary",
        **common,
        messages=words.say("n_messages", count=log.messages),
        topics=words.say("n_topics", count=count),
        first="{first}",
        last=f"{{last}} {facts.settings.zone_name}",
    )
    times = {name: element("span", words.time(time), class_="time") for name, time in (("first", log.first), ("last", log.last))}
    return element("p", filled(text, times), class_="lead")


HEADER = (start, _summary, on_disk, deleted_topics)


def _read(all_facts: Sequence[Facts], words: Words) -> str:
    """How much of the logs was read, and how much a summary knows."""
    read, known = (sum(getattr(facts.log, f"bytes_{name}") for facts in all_facts) for name in ("read", "known"))
    return words.say("read_known", read=words.size(read), known=words.size(known)) if known else words.size(read)


def made(all_facts: Sequence[Facts], words: Words) -> Markup:
    """How the page was made: of one store, or of several with the same settings."""
    settings = all_facts[0].settings
    options = [f"--lang {words.language}"] if words.language != "en" else []
    options += [f"--time-zone {settings.zone_name}"] if settings.zone_name != "UTC" else []
    options += [f"--disk-free {settings.free}"] if settings.free is not None and settings.disk is None else []
    options += [f"--file-reserved-time {settings.reserved}"] if settings.reserved != RESERVED else []
    options += ["--verify"] if settings.verify else []
    options += [f"--summary {os.fsdecode(settings.summary)}"] if settings.summary is not None else []
    options += [f"--option {name}={value}" for name, value in sorted(settings.options.items())]
    not_looked = words.say("not_contents")
    if not settings.verify:
        not_looked = words.say("two_sentences", first=not_looked, second=words.say("not_verified"))
    rows: list[tuple[str, str]] = [
        (words.say("store"), stacked(*(name_of(facts.uri) for facts in all_facts))),
        (words.say("at"), words.time(settings.now)),
        (words.say("zone"), settings.zone_name),
        (words.say("version"), f"rmqstore-spark {version()}"),
        (words.say("options"), " ".join(options) or words.say("none")),
        (words.say("read"), _read(all_facts, words)),
        (words.say("not_looked"), not_looked),
        (words.say("holds"), words.say("holds_text")),
        (words.say("terms"), words.say("terms_text")),
    ]
    return section(words, "made", pairs(rows))


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
    body = (
        element("header", element("h1", title)),
        contents(words.say("contents"), listed),
        element(
            "main",
            _together(brokers, words),
            *(_broker(link, broker, brokers[broker], words) for link, broker in links),
            made(all_facts, words),
        ),
    )
    return _framed(title, words, body, has_more(_topics(all_facts)))


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
            all_topics(words, topics, topics.totals()["bytes"], all_facts[0].settings.zone_name),
            note(words.say("disk_note")),
        ),
    )


def _row(broker: str, facts: Facts, words: Words) -> list[str]:
    usage, lag, dead = facts.usage, facts.lag, facts.dead
    unknown = words.say("not_read")
    return [
        name(words, broker),
        unknown if facts.start is None or isinstance(facts.start, Problem) else words.say(_ANSWERS[facts.start.outcome]),
        words.size(facts.damaged_bytes),
        words.size(usage.total) if usage.is_whole else words.say("at_least", size=words.size(usage.total)),
        number_of(facts.log.messages),
        words.time(facts.log.last),
        number_of(lag.groups.totals()["lag"]) if isinstance(lag, LagOfGroups) else unknown,
        number_of(dead.totals()["messages"]) if isinstance(dead, Tally) else unknown,
    ]


def _topics(all_facts: Sequence[Facts]) -> Tally:
    """The sums by topic over all brokers."""
    found = Tally(("topic",), ("bytes", "messages", "records"), most=("largest", "last"))
    for facts in all_facts:
        if (topics := facts.log.topics.table()) is not None:
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
