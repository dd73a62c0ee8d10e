"""The section about damage and findings, and where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from native_reader.facts import REASONS, Damage, Facts, FirstFindings, Missing, Problem
from native_reader.sentences import Said, say, verbatim
from native_reader.start import NO, lines_of, question
from native_reader.text import names_of, number_of
from rmqstore.report.blocks import LONG, NUMBER, TEXT, TOP, name, note, part, problem, section, stacked, table
from rmqstore.report.markup import Markup, element
from rmqstore.report.segment_map import segment_map
from rmqstore.report.words import Words
from rmqstore.results import in_words

_MOST_TOPICS = 5


def damage(facts: Facts, words: Words) -> Markup:
    """Damage and findings."""
    found = facts.findings
    is_damaged = facts.damaged_places > 0
    return section(
        words,
        "damage",
        element("p", damage_sentence(facts, words), class_="alarm" if is_damaged else None),
        _older(facts, words),
        part(words, "map", segment_map(facts, words)) if facts.segments else None,
        part(words, "by_reason", _reasons(facts, words)) if is_damaged else None,
        part(words, "largest_ranges", _largest(facts, words)) if is_damaged else None,
        None if found is None else part(words, "findings", _findings(found, words, facts.uri)),
    )


def findings_sentence(found: FirstFindings, words: Words) -> str:
    """How many errors and warnings there are, and in which state the messages are."""
    errors, warnings = (words.say(f"n_{severity}s", count=found.counts[severity]) for severity in ("error", "warning"))
    sentence = words.say("findings_sentence", errors=errors, warnings=warnings)
    if found.account is None:
        return sentence
    states = say("end", what=say("messages are", states=found.account.said)).text(words.language)
    return words.say("two_sentences", first=sentence, second=states)


def damage_sentence(facts: Facts, words: Words) -> str:
    """Whether there is damage."""
    if not facts.damaged_places:
        return words.say("undamaged")
    return words.say("damaged", size=words.size(facts.damaged_bytes), places=words.say("n_places", count=facts.damaged_places))


def _older(facts: Facts, words: Words) -> Markup | None:
    """How many messages are older than the log: the page cannot tell whether they expired."""
    if isinstance(facts.older, Problem):
        return problem(words, facts.older)
    if not facts.older:
        return None
    topics, names = words.say("n_topics", count=len(facts.older)), names_of(list(facts.older), _MOST_TOPICS)
    return element("p", words.say("older", count=sum(facts.older.values()), topics=topics, names=names))


def start(facts: Facts, words: Words) -> Markup | None:
    """Whether it is safe to start a broker. It is above all else: a reader who acts on the rest of the page can lose records."""
    found = facts.start
    if isinstance(found, Problem):
        return problem(words, found)
    if found is None:
        return None
    answer, *others = lines_of(found, words.language)
    is_bad = found.loses or found.outcome == NO
    more = [*others, words.say("save_first")] if is_bad else others
    first = say("start answered", question=question(), answer=verbatim(answer)).text(words.language)
    return element("div", element("p", first), *(element("p", line) for line in more), class_="warning" if is_bad else None)


def _reasons(facts: Facts, words: Words) -> Markup:
    ranges = facts.log.damage.ranges
    found: dict[str, tuple[int, int]] = {}
    for reason in REASONS:
        sizes = (ranges["end"] - ranges["start"])[facts.log.damage.are(reason)]
        if len(sizes):
            found[reason] = len(sizes), int(sizes.sum())
    for gap in facts.missing:
        count, size = found.get(gap.reason, (0, 0))
        found[gap.reason] = count + 1, size + gap.stop - gap.start
    columns = ((words.say("reason"), TEXT), (words.say("meaning"), TEXT), (words.say("ranges"), NUMBER), (words.say("size"), NUMBER))
    rows = [
        (reason, Said(f"reason {reason}").text(words.language), number_of(count), words.size(size))
        for reason, (count, size) in sorted(found.items())
    ]
    return table(columns, rows)


def _largest(facts: Facts, words: Words) -> Markup:
    found = facts.log.damage
    order = np.lexsort((found.starts, found.starts - found.ends))[:TOP].tolist()
    rows: list[tuple[int, int, Damage | Missing, str]]
    rows = [(each.start, each.end, each, each.segment) for each in map(found.__getitem__, order)]
    missing = sorted(facts.missing, key=lambda each: (each.start - each.stop, each.start))[:TOP]
    rows += [(each.start, each.stop, each, "–") for each in missing]
    rows.sort(key=lambda row: (row[0] - row[1], row[0]))
    columns = [(words.say("offset"), TEXT), (words.say("size"), NUMBER)]
    columns += [(words.say("reason"), TEXT), (words.say("found"), LONG), (words.say("file"), TEXT)]
    lines = [
        (
            f"{start:,}",
            words.size(stop - start),
            what.reason,
            name(words, what.said.text(words.language)),
            name(words, file.rpartition("/")[2]),
        )
        for start, stop, what, file in rows[:TOP]
    ]
    return table(columns, lines)


def _findings(found: FirstFindings | Problem, words: Words, root: str) -> Markup:
    if isinstance(found, Problem):
        return problem(words, found)
    columns = [(words.say("severity"), TEXT), (words.say("place"), TEXT), (words.say("count"), NUMBER)]
    columns += [(words.say("found"), LONG), (words.say("advice"), LONG)]
    rows = [_finding(row, words, root) for row in found.rows[: 2 * TOP]]
    others = sum(found.counts.values()) - len(rows)
    last = (words.say("others", count=others), *[None] * (len(columns) - 1)) if others > 0 else None
    sentence = element("p", findings_sentence(found, words))
    return element("div", sentence, table(columns, rows, last) if rows else note(words.say("none")))


def _finding(row: Mapping[str, Any], words: Words, root: str) -> Sequence[str]:
    severity, texts, advice = in_words(row, words.language)
    return (
        stacked(severity, str(row["code"])),
        _place(row, words, root),
        number_of(row["count"]),
        stacked(*(name(words, text) for text in texts)),
        name(words, advice),
    )


def _place(row: Mapping[str, Any], words: Words, root: str) -> Markup:
    """The topic, the offset and the file of a finding, as far as it has them."""
    topic = None if row["topic"] is None else name(words, row["topic"])
    offset = None if row["offset"] is None else words.say("at_offset", offset=number_of(row["offset"]))
    return stacked(topic, offset, name(words, str(row["file"]).removeprefix(f"{root}/")))
