"""How many calls a question takes of a store of 100 segments in object storage, and that no call is made twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from support.object_store import Bucket, bucket_of, opened

import native_reader as nr
from native_reader.storage import arrow, remote
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

SEGMENTS, SEGMENT = 100, 32 << 10


class Most(NamedTuple):
    """The most calls by kind. Fewer are a progress: lower the number."""

    list: int
    head: int
    get: int


QUESTIONS: dict[str, tuple[Callable[[nr.Store], Any], Most]] = {
    "open": (lambda store: store, Most(3, 2, 1)),
    "head": (lambda store: store.messages().head(10), Most(3, 4, 2)),
    "a key, its topic known, `trust`": (
        lambda store: store.messages(topic="orders", keys=KEY[0], access="trust").to_table(),
        Most(4, 10, 8),
    ),
    "a key, its topic known": (lambda store: store.messages(topic="orders", keys=KEY[0]).to_table(), Most(6, 110, 108)),
    "a topic of 1 %, `trust`": (lambda store: store.messages(topic="sessions", access="trust").to_table(), Most(5, 31, 30)),
    "a topic of 1 %": (lambda store: store.messages(topic="sessions").to_table(), Most(5, 109, 106)),
    "count_rows": (lambda store: store.messages().count_rows(), Most(3, 104, 101)),
    "queues": (lambda store: store.queues().to_table(), Most(6, 90, 104)),
    "doctor": (lambda store: store.diagnose(), Most(8, 296, 220)),
}
KEY = list[str]()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A bucket with a store of 100 segments."""
    root = tmp_path_factory.mktemp("counted") / "store"
    sizes = {
        "mapped_file_size_commit_log": SEGMENT,
        "mapped_file_size_consume_queue": 60_000,
        "max_index_num": 2_000,
        "max_hash_slot_num": 500,
    }
    write_store(root, StoreSpec(bytes=SEGMENT * (SEGMENTS - 1) + SEGMENT // 2, shares={"sessions": 0.01}, huge=False, **sizes))
    rows = nr.open(root).messages(topic="orders", columns="keys,kind", where="kind = 'normal'").to_table().to_pylist()
    KEY[:] = next(row["keys"] for row in rows[len(rows) // 2 :] if len(row["keys"] or ()) == 1)
    assert len(nr.open(root).stores[0].segments) == SEGMENTS
    with bucket_of({}) as bucket:
        bucket.put_kept({f"store/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*") if path.is_file()})
        yield bucket


@pytest.fixture(autouse=True)
def _timeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked again because this machine was slow."""
    for module, name in ((arrow, "_CONFIRMED_FOR"), (arrow, "KNOWN_FOR"), (remote, "KNOWN_FOR")):
        monkeypatch.setattr(module, name, 3600.0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_call_is_made_twice(large: Bucket, question: str) -> None:
    ask, most = QUESTIONS[question]
    large.link.reset()
    ask(opened(large, connect_timeout=5 + list(QUESTIONS).index(question)))  # other options: a storage that knows nothing yet
    calls = large.link.calls
    twice = {call: count for call, count in Counter((call.kind, call.key, call.range) for call in calls).items() if count > 1}
    # Each time a segment is opened, it is asked whether it is still the one that was listed.
    assert {call: count for call, count in twice.items() if not (call[0] == "head" and "/commitlog/" in call[1])} == {}
    kinds = large.link.kinds
    assert {kind: kinds[kind] for kind in most._fields if kinds[kind] > getattr(most, kind)} == {}
    assert overlapping(calls) == 0


def overlapping(calls: list[Any]) -> int:
    """How many bytes came more than once."""
    total = 0
    ranges: dict[str, list[tuple[int, int]]] = {}
    for call in calls:
        if call.kind == "get":
            first, last = map(int, str(call.range).removeprefix("bytes=").split("-"))
            ranges.setdefault(call.key, []).append((first, last + 1))
    for each in ranges.values():
        end = 0
        for start, stop in sorted(each):
            total += max(0, min(end, stop) - start)
            end = max(end, stop)
    return total


def test_a_new_search_sees_what_changed(large: Bucket) -> None:
    """What a directory holds is known for a while, but not longer than until a store is opened."""
    opened(large).diagnose()
    large.put("store/config/topics.json", b"{}")
    large.put(f"store/commitlog/{SEGMENTS * SEGMENT:020}", bytes(SEGMENT))
    again = opened(large)
    assert len(again.stores[0].segments) == SEGMENTS + 1
    large.remove(f"store/commitlog/{SEGMENTS * SEGMENT:020}")
    assert len(opened(large).stores[0].segments) == SEGMENTS


def test_what_a_listing_lacks_is_not_asked_for(bucket: Bucket) -> None:
    """Each question about a file that does not exist was two calls."""
    store = opened(bucket)
    storage = nr.storage.storage_of(bucket.url)
    storage.list(f"{bucket.url}/store")
    bucket.link.reset()
    for path in ("abort", "config/rdb/CURRENT", "timerlog", "compaction/compactionLog/T"):
        assert storage.entry(f"{bucket.url}/store/{path}") is None
        with pytest.raises(FileNotFoundError):
            storage.open(f"{bucket.url}/store/{path}")
        with pytest.raises(FileNotFoundError):
            storage.list(f"{bucket.url}/store/{path}")
    assert bucket.link.calls == []
    with pytest.raises(NotADirectoryError):
        storage.list(store.stores[0].segments[0].uri)
