"""The facts about stores as metrics for Prometheus: names, what each means, and the text that node-exporter's textfile collector reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from native_reader.facts import Facts, FirstFindings, LagOfGroups, Pending, Problem, Tally, expiry_of

METRICS = {
    "read_timestamp_seconds": "When the store was read, in seconds since 1970.",
    "readable": "1 if this part of the store could be read, else 0. Without it, the metrics of the part are absent.",
    "disk_bytes": "Bytes that this part of the store takes on its disk.",
    "segments": "Files of the commitlog.",
    "expired_segments": "Segments that are older than the broker keeps them.",
    "expired_bytes": "Bytes of these segments.",
    "next_expiry_timestamp_seconds": "When the oldest segment of the others expires.",
    "first_message_timestamp_seconds": "Store time of the first message in the log.",
    "last_message_timestamp_seconds": "Store time of the last message in the log.",
    "topic_messages": "Messages in the log.",
    "topic_bytes": "Bytes of their records.",
    "deleted_topics": "Deleted topics that still have records in the log.",
    "deleted_bytes": "Bytes of their records.",
    "damaged_ranges": "Ranges of the log that are damaged or missing.",
    "damaged_bytes": "Bytes of these ranges.",
    "findings": "Findings of the check of all files; absent without --verify.",
    "account_messages": "Messages by state, as the check counts them; absent without --verify.",
    "group_lag_messages": "Messages between the offset of a consumer group and the end of its queues.",
    "group_lost_messages": "Those of them that expired before the group read them.",
    "group_oldest_unread_timestamp_seconds": "Store time of the oldest message that the group has not read.",
    "dead_messages": "Messages that a consumer group gave up, by the topic that they were sent to.",
    "dead_bytes": "Bytes of their records.",
    "dead_first_timestamp_seconds": "When the first of them was given up.",
    "dead_last_timestamp_seconds": "When the last of them was given up.",
    "delayed_messages": "Messages that wait for their delay level; level 'timer' is for any other time.",
    "delayed_overdue_messages": "Those of them that should have been delivered already.",
    "undecided_transactions": "Half messages that no producer has committed or rolled back.",
    "undecided_first_timestamp_seconds": "Store time of the first half message of these transactions.",
}
"""What each means, by name without PREFIX, in the order of the file. All are gauges: what is in the store when it is read."""
PREFIX = "rmqstore_"
OTHERS = "(others)"
"""The label of what is added up because it is not among the largest. No topic or group can have this name."""
MOST_SERIES = 1000
"""Of one metric and broker. A store can have a million topics, which Prometheus would keep for weeks."""
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_MICROSECONDS = 1_000_000
_TIMES = ("oldest", "first", "last", "since")


class Sample(NamedTuple):
    """One value. `name`: without PREFIX."""

    name: str
    labels: Mapping[str, str]
    value: int | float


def metrics_text(brokers: Mapping[str, Facts]) -> str:
    """The metrics of these brokers in Prometheus's text format, without timestamps: node-exporter refuses files with some."""
    found: dict[str, list[str]] = {name: [] for name in METRICS}
    for broker, facts in brokers.items():
        for sample in _samples(facts):
            labels = {"broker": broker, **sample.labels}
            inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
            found[sample.name].append(f"{PREFIX}{sample.name}{{{inside}}} {sample.value!r}\n")
    return "".join(_block(name, lines) for name, lines in found.items() if lines)


def _block(name: str, lines: Iterable[str]) -> str:
    return f"# HELP {PREFIX}{name} {METRICS[name]}\n# TYPE {PREFIX}{name} gauge\n{''.join(lines)}"


def _samples(facts: Facts) -> Iterator[Sample]:
    yield Sample("read_timestamp_seconds", {}, facts.settings.now / _MICROSECONDS)
    for part in ("lag", "dead", "pending", *(("findings",) if facts.settings.verify else ())):
        yield Sample("readable", {"part": part}, int(not isinstance(getattr(facts, part), Problem)))
    yield from _disk(facts)
    yield from _log(facts)
    if isinstance(facts.lag, LagOfGroups):
        values = {"group_lag_messages": "lag", "group_lost_messages": "expired", "group_oldest_unread_timestamp_seconds": "oldest"}
        yield from _largest(facts.lag.groups, ("group", "topic"), values)
    if isinstance(facts.dead, Tally):
        times = {f"dead_{name}_timestamp_seconds": name for name in ("first", "last")}
        yield from _largest(facts.dead, ("group", "origin_topic"), {"dead_messages": "messages", "dead_bytes": "bytes", **times})
    if isinstance(facts.pending, Pending):
        yield from _pending(facts.pending)
    if isinstance(facts.findings, FirstFindings):
        yield from (Sample("findings", {"severity": name}, facts.findings.counts[name]) for name in ("error", "warning", "note"))
        states = {} if facts.findings.account is None else facts.findings.account.messages
        yield from (Sample("account_messages", {"state": state}, count) for state, count in states.items())


def _disk(facts: Facts) -> Iterator[Sample]:
    yield from (Sample("disk_bytes", {"part": part}, size) for part, size in facts.usage.known.items())
    yield Sample("segments", {}, len(facts.segments))
    if (expiry := expiry_of(facts)) is not None:
        yield Sample("expired_segments", {}, expiry.segments)
        yield Sample("expired_bytes", {}, expiry.bytes)
        if expiry.next is not None:
            yield Sample("next_expiry_timestamp_seconds", {}, expiry.next / _MICROSECONDS)


def _log(facts: Facts) -> Iterator[Sample]:
    for name, time in (("first", facts.log.first), ("last", facts.log.last)):
        if time is not None:
            yield Sample(f"{name}_message_timestamp_seconds", {}, time / _MICROSECONDS)
    yield from _largest(facts.log.places.by("topic", "kind"), ("topic", "kind"), {"topic_messages": "messages", "topic_bytes": "bytes"})
    yield Sample("deleted_topics", {}, len(facts.deleted.names))
    yield Sample("deleted_bytes", {}, facts.deleted.bytes)
    yield Sample("damaged_ranges", {}, facts.damaged_places)
    yield Sample("damaged_bytes", {}, facts.damaged_bytes)


def _pending(found: Pending) -> Iterator[Sample]:
    top = found.delayed.top(MOST_SERIES)
    for row in top.rows:
        labels = {"level": "timer" if row["level"] is None else str(row["level"]), "state": str(row["state"])}
        yield Sample("delayed_messages", labels, int(str(row["messages"])))
        yield Sample("delayed_overdue_messages", labels, int(str(row["overdue"])))
    values = {"undecided_transactions": "messages", "undecided_first_timestamp_seconds": "since"}
    yield from _largest(found.halves, ("topic", "producer_group"), values)


def _largest(tally: Tally, keys: Sequence[str], values: Mapping[str, str]) -> Iterator[Sample]:
    """The largest groups, and the sums of all others. `values`: the keys of the values, by metric."""
    top = tally.top(MOST_SERIES)
    for row in top.rows:
        labels = {key: "" if row[key] is None else str(row[key]) for key in keys}
        for name, key in values.items():
            value = row[key]
            if isinstance(value, int):
                yield Sample(name, labels, value / _MICROSECONDS if key in _TIMES else value)
    if top.groups:
        labels = dict.fromkeys(keys, OTHERS)
        yield from (Sample(name, labels, top.others[key]) for name, key in values.items() if key not in _TIMES)
