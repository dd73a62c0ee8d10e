"""Facts of a store with many topics, without the store: the page is what is tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

import pyarrow as pa

import native_reader as nr
from native_reader.facts import DeletedInLog, Facts, Tally
from native_reader.facts.gather import ReportSettings, gather
from native_reader.sums import MOST_GROUPS
from support.stores import files_of, in_memory, log_of, message

NOW = 1_800_000_000_000_000
_SERVICES = ("order", "payment", "user", "cart", "stock", "shipping", "invoice", "coupon", "price", "search", "mail", "audit")
_EVENTS = ("created", "changed", "deleted", "paid", "refunded", "sent", "failed", "expired", "checked")


def names_of(count: int) -> list[str]:
    """Names as a company has them: much is repeated, and something is each time another."""
    chance = Random(1)
    return [f"{chance.choice(_SERVICES)}-{chance.choice(_EVENTS)}-tenant{number:05}" for number in range(count)]


@cache
def _facts() -> Facts:
    memory = in_memory(files_of(log_of(map(message, range(30)))))
    (files,) = nr.open(f"{memory.url}/store").stores
    return gather(files, ReportSettings(NOW))


def with_topics(names: Sequence[str], *, limit: int = MOST_GROUPS, deleted: tuple[str, ...] = ()) -> Facts:
    """The facts of a small store, with these topics in place of its own. The same names give the same numbers."""
    chance = Random(2)
    sizes = [int(chance.lognormvariate(12, 3)) + 100 for _ in names]
    columns = {
        "topic": pa.array(names, pa.string()),
        "bytes": pa.array(sizes, pa.int64()),
        "messages": pa.array([size // 100 for size in sizes], pa.int64()),
        "records": pa.array([size // 100 for size in sizes], pa.int64()),
        "largest": pa.array([chance.randrange(100, size + 1) for size in sizes], pa.int64()),
        "last": pa.array([NOW - chance.randrange(10**13) for _ in sizes], pa.int64()),
    }
    topics = Tally(("topic",), ("bytes", "messages", "records"), most=("largest", "last"), limit=limit)
    topics.add(pa.table(columns))
    segments = Tally(("segment",), ("bytes", "messages", "records"), least=("first",), most=("last",))
    sums = {name: pa.array([sum(columns[name].to_pylist())], pa.int64()) for name in ("bytes", "messages", "records")}
    times = dict.fromkeys(("first", "last"), pa.array([NOW], pa.int64()))
    segments.add(pa.table({"segment": ["0"], **sums, **times}))
    facts = _facts()
    return replace(facts, log=replace(facts.log, topics=topics, segments=segments), deleted=DeletedInLog(deleted))
