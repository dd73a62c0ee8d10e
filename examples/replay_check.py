"""Checks before a replay which messages of a topic were stored, and what a consumer group would get again.

Usage: python examples/replay_check.py STORE TOPIC [--since TIME] [--until TIME] [--offsets QUEUE FIRST END] [--group GROUP]

`first` and `end` are queue offsets. A group that is reset to the time begins at `first`, of a 4.x broker perhaps one message earlier.
It gets up to `again` messages that it has read, and up to `new` others before `end`. `missing` messages cannot be read, and `twice`
ones have the id of an earlier one. The exit code is 1 if there are such messages, or none at all.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import rmqstore

Row = dict[str, Any]


def committed(store: rmqstore.Store, group: str, topic: str) -> dict[int, int]:
    """The offset of the group in each queue."""
    rows = store.groups(where=f"topic = '{topic}'").to_table().to_pylist()
    known = sorted({row["group"] for row in rows})
    if group not in known:
        raise rmqstore.OptionError(f"group '{group}' has no offset for '{topic}'. Groups that have one: {', '.join(known) or 'none'}")
    return {row["queue_id"]: row["committed"] for row in rows if row["group"] == group}


def counted(there: np.ndarray, first: int, end: int, reset: int | None) -> Row:
    """What there is of these offsets of one queue. `reset`: the offset of the group, if one was named."""
    edges = np.array([first - 1, *np.unique(there), end])
    missing = [range(edges[at] + 1, edges[at + 1]) for at in np.flatnonzero(np.diff(edges) > 1)]
    row: Row = {"first": first, "end": end, "stored": len(there), "missing": sum(map(len, missing))}
    row |= {} if reset is None else {"again": max(0, min(reset, end) - first), "new": max(0, end - max(reset, first))}
    return row | {"missing offsets": ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in missing)}


def checked(store: rmqstore.Store, topic: str, since: str | None, *, until: str | None, group: str | None, asked: list[int]) -> list[Row]:
    """One row for each queue. `asked`: a queue and the offsets that must be there; else all from the first one in the window."""
    where = "kind NOT IN ('prepared', 'rollback')"  # of brokers 4.0 to 4.2, in no queue
    if asked:
        where += f" AND queue_id = {asked[0]} AND queue_offset >= {asked[1]} AND queue_offset < {asked[2]}"
    options: Row = {"columns": "queue_id,queue_offset,msg_id", "mode": "DROPMALFORMED", "fail_on_data_loss": False}
    messages = store.messages(topic=topic, where=where, starting_timestamp=since, ending_timestamp=until, **options).to_table(jobs=4)
    read, rows = committed(store, group, topic) if group else {}, []
    queues = [] if until else store.queues(where=f"topic = '{topic}'").to_table().to_pylist()
    queue_ids, offsets = messages["queue_id"].to_numpy(), messages["queue_offset"].to_numpy()
    _, firsts = np.unique(messages["msg_id"].to_numpy(), return_index=True)  # also of a copy in another queue
    for queue in asked[:1] if asked else sorted(set(queue_ids.tolist())):
        there = offsets[queue_ids == queue]
        last = max((each["max_offset"] - 1 for each in queues if each["queue_id"] == queue), default=0)
        first, end = asked[1:] if asked else (int(there.min()), max(last, int(there.max())) + 1)
        row = {"queue": queue, "twice": len(there) - np.count_nonzero(queue_ids[firsts] == queue)}
        rows.append(row | counted(there, first, end, read.get(queue, first) if group else None))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    for name in ("store", "topic", "--since", "--until", "--group"):
        parser.add_argument(name)
    parser.add_argument("--offsets", nargs=3, type=int, metavar=("QUEUE", "FIRST", "END"), dest="asked", default=[])
    given = vars(parser.parse_args())
    try:
        rows = checked(rmqstore.open(given.pop("store")), **given)
    except rmqstore.StoreError as error:
        parser.exit(2, f"{error}\n")
    for *numbers, offsets in [*map(list, rows[:1]), *(row.values() for row in rows)]:
        print("".join(f"{each:>9}" for each in numbers), "", offsets)
    stored, missing, twice, again, new = (sum(row.get(name, 0) for row in rows) for name in ("stored", "missing", "twice", "again", "new"))
    print(f"{stored:,} messages of '{given['topic']}' are stored, {missing:,} are missing, {twice:,} are there twice")
    if given["group"]:
        print(f"after a reset, '{given['group']}' gets up to {again:,} messages again, and up to {new:,} others")
    parser.exit(1 if missing or twice or not stored else 0)


if __name__ == "__main__":
    main()
