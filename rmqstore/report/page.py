"""The page about one store: all sections in one HTML file, without scripts and without anything from a network."""

from __future__ import annotations

import os
from collections.abc import Sequence

from native_reader.facts import RESERVED, Facts, FirstFindings
from native_reader.text import size_of
from native_reader.version import version
from rmqstore.report.blocks import pairs, section, stacked
from rmqstore.report.damage_section import damage, damage_sentence, findings_sentence, start
from rmqstore.report.disk_section import deleted_topics, disk, on_disk
from rmqstore.report.frame import contents, framed
from rmqstore.report.log_sections import over_time, sizes, skew
from rmqstore.report.markup import Markup, element, filled, name_of, shortened
from rmqstore.report.side_sections import dead, lag, pending
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
    body = element(
        "body",
        element("header", element("h1", title), *(make(facts, words) for make in HEADER)),
        contents(words.say("contents"), ((key, words.say(key)) for key in (*SECTIONS, "made"))),
        element("main", *sections, made([facts], words)),
    )
    return framed(title, language, body)


def name_and_host(facts: Facts) -> str:
    """The broker, its cluster and its host, as far as they are known; the name of the directory of an unknown broker."""
    broker, cluster, host = facts.broker
    names = (broker or facts.uri.rstrip("/").rpartition("/")[2], cluster, host)
    return ", ".join(shortened(name) for name in names if name)


def _summary(facts: Facts, words: Words) -> Markup:
    log = facts.log
    common = {
        "size": size_of(facts.size),
        "segments": words.say("n_segments", count=len(facts.segments)),
        "damage": damage_sentence(facts, words),
    }
    if isinstance(facts.findings, FirstFindings):
        common["damage"] = words.say("two_sentences", first=common["damage"], second=findings_sentence(facts.findings, words))
    if not log.messages:
        return element("p", words.say("summary_empty", **common), class_="lead")
    topics = log.places.by("topic")
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
    return words.say("read_known", read=size_of(read), known=size_of(known)) if known else size_of(read)


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
