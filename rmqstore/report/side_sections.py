"""The sections about consumers, and about messages that wait."""

from __future__ import annotations

from native_reader.facts import Facts, LagOfGroups, Pending, Problem, Row
from native_reader.text import number_of
from rmqstore.report.blocks import NUMBER, TEXT, TOP, Columns, name, note, part, problem, section, table, times_in
from rmqstore.report.markup import Markup
from rmqstore.report.words import Words

_LAG = ("lag_column", "largest_lag", "lag_expired", "oldest_unread")


def lag(facts: Facts, words: Words) -> Markup:
    """Lag by group."""
    found = facts.lag
    if isinstance(found, Problem):
        return section(words, "lag", problem(words, found))
    if not found.offsets:
        return section(words, "lag", note(words.say("lag_none")))
    return section(
        words,
        "lag",
        note(words.say("lag_note")),
        times_in(words, facts.settings.zone_name),
        groups_behind(found, words),
        note(words.say("lag_unknown", count=found.unknown)) if found.unknown else None,
        note(words.say("lag_ahead", count=found.ahead)) if found.ahead else None,
    )


def groups_behind(found: LagOfGroups, words: Words) -> Markup:
    """The groups with a lag, by topic."""
    top = found.groups.top(TOP)
    behind = [row for row in top.rows if row["lag"]]
    if not behind:
        return note(words.say("lag_zero"))
    columns = _columns(words, ("group", "topic"), ("queues", *_LAG))
    rows = [
        (
            name(words, row["group"]),
            name(words, row["topic"]),
            *(number_of(row[key]) for key in ("queues", "lag", "largest", "expired")),
            _time(row, "oldest", words),
        )
        for row in behind
    ]
    others = None
    if top.groups and top.others["lag"]:
        sums = (number_of(top.others["queues"]), number_of(top.others["lag"]), None, number_of(top.others["expired"]), None)
        others = (words.say("others", count=top.groups), None, *sums)
    return table(columns, rows, others)


def pending(facts: Facts, words: Words) -> Markup:
    """Delayed messages and undecided transactions."""
    found = facts.pending
    if isinstance(found, Problem):
        return section(words, "pending", problem(words, found))
    return section(
        words,
        "pending",
        times_in(words, facts.settings.zone_name),
        part(words, "delayed", _delayed(found, words)),
        part(words, "halves", _halves(found, words)),
        part(words, "fates", _fates(found, words)) if found.fates else None,
    )


def dead(facts: Facts, words: Words) -> Markup:
    """Dead messages by group and origin topic."""
    found = facts.dead
    if isinstance(found, Problem):
        return section(words, "dead", problem(words, found))
    top = found.top(TOP)
    if not top.rows:
        return section(words, "dead", note(words.say("none")))
    columns = _columns(words, ("group", "origin_topic"), ("messages", "size", "failures", "first_dead", "last_dead"))
    rows = [
        (
            name(words, row["group"]),
            name(words, row["origin_topic"], "unknown_topic"),
            number_of(row["messages"]),
            words.size(int(str(row["bytes"]))),
            number_of(row["failures"]),
            *(_time(row, key, words) for key in ("first", "last")),
        )
        for row in top.rows
    ]
    others = None
    if top.groups:
        others = (
            words.say("others", count=top.groups),
            None,
            number_of(top.others["messages"]),
            words.size(top.others["bytes"]),
            *[None] * 3,
        )
    return section(words, "dead", note(words.say("dead_note")), times_in(words, facts.settings.zone_name), table(columns, rows, others))


def _delayed(found: Pending, words: Words) -> Markup:
    top = found.delayed.top(TOP)
    if not top.rows:
        return note(words.say("none"))
    columns = _columns(words, ("level", "state"), ("messages", "overdue", "due", "latest", "since"))
    rows = [
        (
            words.say("timer") if row["level"] is None else str(row["level"]),
            words.say(f"state_{row['state']}"),
            number_of(row["messages"]),
            "–" if row["state"] == "unknown" or row["due"] is None else number_of(row["overdue"]),
            *(_time(row, key, words) for key in ("due", "latest", "since")),
        )
        for row in sorted(top.rows, key=lambda row: (row["level"] is None, row["level"] or 0, str(row["state"])))
    ]
    others = None
    if top.groups:
        figures = (number_of(top.others["messages"]), number_of(top.others["overdue"]))
        others = (words.say("others", count=top.groups), None, *figures, None, None, None)
    return table(columns, rows, others)


def _halves(found: Pending, words: Words) -> Markup:
    top = found.halves.top(TOP)
    if not top.rows:
        return note(words.say("none"))
    columns = _columns(words, ("topic", "producer_group"), ("transactions", "since", "checks"))
    rows = [
        (
            name(words, row["topic"]),
            name(words, row["producer_group"]),
            number_of(row["messages"]),
            _time(row, "since", words),
            str(row["checks"]) if row["checks"] is not None else "–",
        )
        for row in top.rows
    ]
    others = None
    if top.groups:
        others = (words.say("others", count=top.groups), None, number_of(top.others["messages"]), None, None)
    return table(columns, rows, others)


def _fates(found: Pending, words: Words) -> Markup:
    columns = _columns(words, ("fate",), ("transactions",))
    return table(columns, [(words.say(f"fate_{fate}"), number_of(count)) for fate, count in sorted(found.fates.items())])


def _columns(words: Words, texts: tuple[str, ...], numbers: tuple[str, ...]) -> Columns:
    return [*((words.say(key), TEXT) for key in texts), *((words.say(key), NUMBER) for key in numbers)]


def _time(row: Row, key: str, words: Words) -> str:
    time = row[key]
    return words.time(time if isinstance(time, int) else None)
