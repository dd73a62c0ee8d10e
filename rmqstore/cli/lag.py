"""`rmqstore lag`: which consumer groups are behind, since when, and what they have lost."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.asked import AS_JSON, BROKER, GROUPS, LANGUAGE, NAMES, PATHS, PLACES, READING, WHERE, Asked, takes
from rmqstore.cli.program import CLEAN, FOUND
from rmqstore.cli.rows import NUMBER, ColumnLook, Output
from rmqstore.cli.stat import age_of, minutes
from rmqstore.cli.stderr import bar, clear, note, warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from native_reader import Store, Verification
    from native_reader.account.account import Account
    from native_reader.sentences import Said

    Rows = list[dict[str, Any]]

HELP = """Show how far consumer groups are behind, by group and topic, the largest lag first: from the offsets that the broker stored.

\b
  lag            messages between the group's offset and the end of the queue
  expired        those of them that are before the log: the group never gets
                 them
  tiered         those of them that are in tiered storage only; shown if there
                 are any
  behind         queues with a lag
  oldest_unread  when the first message was stored that the group has not read

Of the log, one record of each queue is read. --verify reads all of it, and counts what each group has not read by state:

\b
  served         whole, and its queue names it; with those that a broker
                 queues when it starts
  unreachable    whole, and no consumer gets it
  doubtful       something contradicts it
  lost           something names it, and it is not there
  not_read       in a file that was not read

A group with a tag filter skips messages: rmqstore tables STORE lag_by_tag counts them by tag. Nothing in the store says how fast a
group consumes; two runs do. If there are several stores, each row names its broker. The exit code is 1 if a group of --group has no
offset, if an offset is after the end of its queue, or if --verify found errors, warnings, or a message that is not as the broker left it.
"""
EPILOG = """\b
Examples:
  rmqstore lag /data/store
  rmqstore lag /data/store --by queue --group billing
  rmqstore lag /data/store --verify --jobs 4
  rmqstore lag /data/store --all --json
"""
_BY = {"topic": ("group", "topic"), "queue": ("group", "topic", "queue_id")}
_READ = ("store", "group", "topic", "queue_id", "committed", "min", "lag", "expired", "tiered", "oldest_unread")
_COUNTS = ("lag", "expired", "tiered")
_STATES = {
    "served": ("served",),
    "unreachable": ("unreachable",),
    "doubtful": ("doubtful",),
    "lost": ("lost", "at least"),
    "not_read": ("not read",),
}
"""The states of the account that a column counts."""
_FAULTS = tuple(_STATES)[1:]


@click.command(help=HELP, epilog=EPILOG)
@click.option(
    "--by", type=click.Choice(tuple(_BY)), default="topic", help="A row for each topic of a group, or each queue.  [default: topic]"
)
@click.option("--all", "is_all", is_flag=True, help="Also groups that are not behind.")
@click.option("--verify", is_flag=True, help="Also check all files against each other, and count by state. Reads the log.")
@takes(PATHS, GROUPS, NAMES, WHERE, LANGUAGE, AS_JSON, READING, PLACES)
def lag(asked: Asked, by: str, is_all: bool, verify: bool, lang: str) -> int:
    from native_reader.facts import Tally
    from native_reader.sentences import say

    output = Output(json=asked.as_json, zone=asked.zone)
    with warnings() as warned:
        store = asked.open()
        names = asked.brokers_shown(store)
        keys = (*(("store",) if names else ()), *_BY[by])
        tally = Tally(keys, (*_COUNTS, "behind", *_STATES, *_ODD), least=("oldest_unread",), limit=None)
        table = store.table("consumer_offsets", **asked.values(columns=list(_READ)))
        offsets = list(table.to_batches(asked.jobs, progress=bar("counting")))
        checks = _checks(asked, store) if verify else {}
        for batch in offsets:
            tally.add(_counted(batch, keys, {uri: check.account for uri, check in checks.items()}))
        clear()
    found = tally.table()
    rows = [] if found is None else [row for batch in found.to_batches(1000) for row in batch.to_pylist()]
    rows = [row | dict.fromkeys(() if verify and not row["untold"] else _STATES) for row in rows]
    shown = [row | {BROKER: names.get(row.get("store", ""))} for row in rows if is_all or row["lag"] or any(map(row.get, _FAULTS))]
    _print(output, shown, (*((BROKER,) if names else ()), *_BY[by]), verify)
    for said in _said(rows, shown, checks, is_filtered="where" in asked.values(), is_json=output.is_json):
        note(said.text(lang))
    absent = [] if asked.has_where else [group for group in dict.fromkeys(asked.groups) if all(group != row["group"] for row in rows)]
    for group in absent:
        note(say("no offset of group", group=repr(group)).text(lang))
    is_well = not (absent or warned.has_loss or any(row["ahead"] or row["traceless"] for row in rows))
    return CLEAN if is_well and all(check.is_clean for check in checks.values()) else FOUND


_ODD = ("unknown", "ahead", "untold", "traceless")
"""Offsets without a lag, offsets beyond their queue, offsets of whose messages the account tells nothing; and messages that nothing has."""


def _checks(asked: Asked, store: Store) -> dict[str, Verification]:
    """The check of each store, by its URI."""
    options = {name: value for name, value in asked.values().items() if name not in ("where", "time_zone")}
    checks = {one.stores[0].uri: one.verify(**options) for one in store.one_by_one()}
    for check in checks.values():
        check.to_table(asked.jobs, bar("checking"))
    return checks


def _counted(batch: pa.RecordBatch, keys: tuple[str, ...], accounts: Mapping[str, Account]) -> pa.Table:
    import pyarrow as pa

    rows = [_of_offset(row, accounts.get(row["store"])) for row in batch.to_pylist()]
    counts = {name: pa.array([int(row.get(name) or 0) for row in rows], pa.int64()) for name in (*_COUNTS, "behind", *_STATES, *_ODD)}
    return pa.table({name: batch[name] for name in keys} | counts | {"oldest_unread": batch["oldest_unread"]})


def _of_offset(row: dict[str, Any], account: Account | None) -> dict[str, Any]:
    """The counts of one offset of a group. `account`: of its store, if it was made."""
    lag = row["lag"] or 0
    counts = {"unknown": row["lag"] is None, "ahead": lag < 0, "behind": lag > 0, "lag": max(0, lag)}
    counts |= {name: row[name] or 0 for name in ("expired", "tiered")}
    if account is None or row["queue_id"] is None or row["committed"] is None:
        return counts
    place = row["topic"], row["queue_id"]
    states = account.after(*place, row["committed"])
    if states is None:
        return counts | {"untold": lag > 0}
    # What is before the log has expired only as far as the account does not say otherwise.
    later = account.after(*place, max(row["committed"], row["min"] or 0)) or {}
    counts["expired"] = max(0, counts["expired"] - sum(states.values()) + sum(later.values()))
    counts |= {name: sum(states.get(state, 0) for state in of) for name, of in _STATES.items()}
    counts["traceless"] = max(0, lag - counts["expired"] - counts["tiered"] - sum(states.values()))
    return counts


def _print(output: Output, rows: list[dict[str, Any]], keys: tuple[str, ...], verify: bool) -> None:
    looks = dict.fromkeys((*_COUNTS, "behind", *_STATES), NUMBER)
    tiered = ("tiered",) if any(row["tiered"] for row in rows) else ()
    is_seen = dict.fromkeys(_STATES, not output.is_terminal) | {"served": True}
    states = tuple(name for name in _STATES if is_seen[name] or any(row[name] for row in rows)) if verify or output.is_json else ()
    columns = (*keys, "lag", "expired", *tiered, *states, *(() if "queue_id" in keys else ("behind",)), "oldest_unread")
    if output.is_terminal:
        columns = (*columns, "age")
        looks["age"] = ColumnLook(partial(age_of, time.time()))
        looks["oldest_unread"] = minutes("oldest_unread", output.zone)
    output.rows(columns, ({**row, "age": row["oldest_unread"]} for row in rows), looks, ("behind", "oldest_unread"))


def _said(rows: Rows, shown: Rows, checks: Mapping[str, Verification], *, is_filtered: bool, is_json: bool) -> Iterator[Said]:
    """What stands below the table. In JSON, the rows have the numbers."""
    from native_reader.sentences import say

    def total(name: str) -> int:
        return sum(row[name] or 0 for row in rows)

    if not is_json:
        if not rows:
            yield say("no offset matches" if is_filtered else "no group offsets")
        elif len(shown) < len(rows):
            yield say("without lag", rows=len(rows) - len(shown))
        if tiered := total("tiered"):
            yield say("lag in tier", messages=tiered)
        if unknown := total("unknown"):
            yield say("lag unknown", offsets=unknown)
    if ahead := total("ahead"):
        yield say("offsets ahead", offsets=ahead)
    if untold := total("untold"):
        yield say("lag untold", offsets=untold)
    if traceless := total("traceless"):
        yield say("lag without trace", messages=traceless)
    for uri, check in checks.items():
        yield say("states of store", store=uri, states=check.said)
    if rows and not checks:
        yield say("lag of entries")
