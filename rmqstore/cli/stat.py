"""`rmqstore stat`: what fills the disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqstore.cli.asked import AS_JSON, BROKER, FILTERS, NAMES, PATHS, PLACES, READING, STRICT, WHERE, WRITTEN_SUMMARY, Asked, Number, takes
from rmqstore.cli.reading import Read
from rmqstore.cli.rows import NUMBER, SHARE, SIZE, ColumnLook, Output
from rmqstore.cli.spoken import spoken
from rmqstore.cli.stderr import note
from rmqstore.cli.summarize import complete, has_conditions
from rmqstore.text import time_text

if TYPE_CHECKING:
    from datetime import tzinfo

    import pyarrow as pa

    from native_reader.facts import DeletedInAll, Tally
    from native_reader.sentences import Said

HELP = """Show what fills the log: messages and bytes by topic, tag, hour, day, producer, kind, queue or size. Several --by are combined.

Bodies are not read into rows. Bytes are those of whole records; an inner batch counts once. Hours and days are of the store time,
in UTC or in --time-zone. A producer is the host that sent the message. A deleted topic has records until its segments expire.
"""
EPILOG = """\b
Examples:
  rmqstore stat /data/store
  rmqstore stat /data/store --by topic --by producer --where "record_size > 1000000"
  rmqstore stat /data/store --by hour --topic orders --time-zone Asia/Shanghai
  rmqstore stat /data/store --by topic --json
"""

_SIZES = (1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20)
_SIZE_NAMES = ("below 1 KiB", "1-4 KiB", "4-16 KiB", "16-64 KiB", "64-256 KiB", "256 KiB-1 MiB", "1-4 MiB", "4 MiB and more")
_MEASURED = ("record_size", "inner_index", "store_timestamp")
_SHOWN = 20
_LESS = ("largest_bytes", "mean_bytes", "first_store_timestamp", "last_store_timestamp")
"""What a narrow terminal does not show, the first one first."""
_MOST_GROUPS = 1_000_000
_MINUTE = 60_000_000


class Dimension(NamedTuple):
    """What messages are grouped by: a column, and the key made from it. `ordered`: listed by key, not by size."""

    column: str
    key: Callable[[pa.Array, tzinfo | None], pa.Array] = lambda values, zone: values
    ordered: bool = False


class _Known(NamedTuple):
    """What is known of the groups besides their sums. `names`: of brokers, by store. `deleted`: by store, and by None in all stores."""

    names: Mapping[str, str]
    deleted: dict[str | None, DeletedInAll]

    def is_deleted(self, row: Mapping[str, Any]) -> bool | None:
        return self.deleted[row.get(BROKER)].has(row.get("topic"))


def _host(hosts: pa.Array, zone: tzinfo | None) -> pa.Array:
    """Hosts without their ports; a batch has few different ones."""
    from native_reader.facts import addresses

    encoded = hosts.dictionary_encode()
    return addresses(encoded.dictionary).take(encoded.indices)


def _floored(**parts: int) -> Callable[[pa.Array, tzinfo | None], pa.Array]:
    """Times with these parts replaced."""

    def floored(times: pa.Array, zone: tzinfo | None) -> pa.Array:
        from native_reader.layout.times import each_moment

        known = zone or UTC
        # A batch has few minutes. The offsets of zones are whole minutes, and change on whole minutes since 1972.
        return each_moment(times, _MINUTE, lambda moment: moment.astimezone(known).replace(**parts), times.type)  # type: ignore[arg-type]

    return floored


def _size_class(sizes: pa.Array, zone: tzinfo | None) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.searchsorted(_SIZES, sizes.to_numpy(), "right").astype(np.int8))


DIMENSIONS = {
    BROKER: Dimension("store"),
    "topic": Dimension("topic"),
    "tag": Dimension("tags"),
    "hour": Dimension("store_timestamp", _floored(minute=0, second=0, microsecond=0), ordered=True),
    "day": Dimension("store_timestamp", _floored(hour=0, minute=0, second=0, microsecond=0), ordered=True),
    "producer": Dimension("born_host", _host),
    "kind": Dimension("kind"),
    "queue": Dimension("queue_id", ordered=True),
    "lite": Dimension("lite_topic"),
    "size": Dimension("record_size", _size_class, ordered=True),
}


@click.command(help=HELP, epilog=EPILOG)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(tuple(DIMENSIONS)),
    help="Group by this.  [default: topic; of several stores, broker and topic]",
)
@click.option("--top", type=Number(0), metavar="N", help="Print the largest groups only; 0 is all.  [default: 20 on a terminal]")
@takes(PATHS, NAMES, FILTERS, WRITTEN_SUMMARY, WHERE, AS_JSON, STRICT, READING, PLACES)
def stat(asked: Asked, by: tuple[str, ...], top: int | None) -> int:
    from native_reader.facts import DeletedInAll, Tally
    from rmqstore.disk import on_disk

    output, begun = Output(json=asked.as_json, zone=asked.zone), time.monotonic()
    zone, is_all = asked.options.get("time_zone"), not has_conditions(asked)
    with Read(asked) as read:
        store = asked.open()
        if is_all:
            complete(asked, store)
        names = asked.brokers(store) if BROKER in by else {} if by else asked.brokers_shown(store)
        by = tuple(dict.fromkeys(by)) or (*((BROKER,) if names else ()), "topic")
        tally = Tally(by, ("bytes", "messages", "records"), least=("first",), most=("largest", "last"), limit=_MOST_GROUPS)
        columns = list(dict.fromkeys((*(DIMENSIONS[each].column for each in by), *_MEASURED)))
        scan = store.messages(**asked.of_messages(columns=columns))
        with closing(read.batches(scan)) as batches:
            for batch in batches:
                tally.add(keyed(batch, by, asked.zone))
        deleted = DeletedInAll(store.stores)
        how = {"zone": str(zone or "UTC"), "time": _took(time.monotonic() - begun)}
        known = _Known(names, {None: deleted})
        if BROKER in by:
            known.deleted.update({each.uri: DeletedInAll((each,)) for each in store.stores})
        _print(output, tally, by, top, known)
        read.expect(tally.totals()["messages"])
        _summarize(tally, how, _deleted(tally, deleted, is_all) if "topic" in by else None, on_disk(store))
    return read.code


def keyed(batch: pa.RecordBatch, by: tuple[str, ...], zone: tzinfo | None) -> pa.Table:
    """The keys of the messages, and what each adds."""
    import pyarrow as pa

    from native_reader.facts import measures

    if batch["record_size"].null_count:  # the rows about damage of mode=PERMISSIVE
        batch = batch.filter(batch["record_size"].is_valid())
    keys = {each: DIMENSIONS[each].key(batch[DIMENSIONS[each].column], zone) for each in by}
    times = batch["store_timestamp"]
    return pa.table(keys | measures(batch) | {"first": times, "last": times})


def _took(seconds: float) -> str:
    from native_reader.text import duration_of

    return duration_of(seconds) if seconds >= 10 else f"{seconds:.1f} s"


def _print(output: Output, tally: Tally, by: tuple[str, ...], top: int | None, known: _Known) -> None:
    import pyarrow as pa

    from native_reader.sentences import Said, say

    size, groups = tally.totals()["bytes"], tally.table()
    groups = pa.table({}) if groups is None else groups
    is_ordered = any(DIMENSIONS[each].ordered for each in by)
    if top is None and output.is_terminal and not is_ordered:
        top = _SHOWN
    by_key = [(each, "ascending") for each in by]
    shown = groups.slice(0, top) if top and len(groups) > top else groups  # a slice of no columns has rows
    shown = shown.sort_by(by_key) if is_ordered and len(shown) else shown
    columns = (*by, "messages", "bytes", "share", "mean_bytes", "largest_bytes", "first_store_timestamp", "last_store_timestamp")
    looks = {"messages": NUMBER, "bytes": SIZE, "share": SHARE}
    looks |= {f"{name}_bytes": SIZE._replace(title=name) for name in ("mean", "largest")}
    looks |= {f"{name}_store_timestamp": minutes(name, output.zone) for name in ("first", "last")}
    if "topic" in by and not output.is_terminal:
        columns = (*columns, "is_deleted")
    rows = (row for batch in shown.to_batches(1000) for row in batch.to_pylist())
    found = (_row(row, by, size, known.names) | {"is_deleted": known.is_deleted(row)} for row in rows)
    output.rows(columns, map(_marked, found) if output.is_terminal else found, looks, _LESS)
    if len(shown) < len(groups):
        note(say("groups left out", count=len(groups) - len(shown)))
    if tally.forgotten_groups:
        note(say("warning", what=Said("groups forgotten")))


def _summarize(tally: Tally, how: Mapping[str, str], *more: Said | None) -> None:
    """The lines below the table. `how`: the zone of times, and how long the read took."""
    from native_reader.sentences import say
    from native_reader.text import size_of

    totals, groups = tally.totals(), tally.table()
    counts = {"messages": totals["messages"], "groups": 0 if groups is None else len(groups)}
    note(say("stat totals", **counts, size=size_of(totals["bytes"]), **how))
    for each in more:
        if each is not None:
            note(each)


def _marked(row: dict[str, Any]) -> dict[str, Any]:
    """For people: a mark at the name of a topic that was deleted."""
    from native_reader.sentences import say

    return row | {"topic": say("name of deleted", topic=row["topic"]).text(spoken())} if row["is_deleted"] else row


def _deleted(tally: Tally, deleted: DeletedInAll, is_all: bool) -> Said | None:
    """What the deleted topics still take, for people; None if there are none."""
    from rmqstore.disk import said_of_deleted

    topics = tally.by("topic").table()
    rows = [] if topics is None else [row for batch in topics.to_batches(1000) for row in batch.to_pylist() if deleted.has(row["topic"])]
    if not rows:
        return None
    messages, size = (sum(row[each] for row in rows) for each in ("messages", "bytes"))
    return said_of_deleted([row["topic"] for row in rows], messages, size, is_all=is_all)


def minutes(title: str, zone: tzinfo | None) -> ColumnLook:
    """A column of times for people: 2026-01-31 12:00. Its title names the zone."""
    return ColumnLook(lambda moment: time_text(moment, zone)[:16], is_number=False, title=f"{title} ({zone or 'UTC'})")


def age_of(now: float, moment: datetime) -> str:
    """How long ago that was, for people."""
    from native_reader.sentences import CHINESE
    from native_reader.text import duration_of, in_chinese

    age = duration_of(max(0, now - moment.timestamp()))
    return in_chinese(age) if spoken() == CHINESE else age


def _row(row: dict[str, Any], by: tuple[str, ...], whole: int, names: Mapping[str, str]) -> dict[str, Any]:
    keys = {each: row[each] for each in by}
    if BROKER in keys:
        keys[BROKER] = names[keys[BROKER]]
    if "size" in keys and keys["size"] is not None:
        keys["size"] = _SIZE_NAMES[keys["size"]]
    measures = {"messages": row["messages"], "bytes": row["bytes"], "share": row["bytes"] / whole if whole else None}
    sizes = {"mean_bytes": row["bytes"] // row["records"] if row["records"] else None, "largest_bytes": row["largest"]}
    return keys | measures | sizes | {"first_store_timestamp": row["first"], "last_store_timestamp": row["last"]}
