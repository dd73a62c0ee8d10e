"""The facts of a report equal plain counting over all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.effort import thinned
from support.golden import Golden, opened
from support.own_stores import NAMES
from support.stores import files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.facts import Facts, FirstFindings, pace_of
from native_reader.facts.log_facts import DAY, HOUR, SIZES
from native_reader.facts.table_facts import LagOfGroups, Pending
from native_reader.sums import Tally
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.records import pack_properties
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from rmqstore.report.log_sections import skews

NOW = 1_800_000_000_000_000
Row = dict[str, object]


def sums(tally: Tally, *keys: str) -> dict[tuple[object, ...], tuple[object, object]]:
    return {tuple(row[key] for key in keys): (row["bytes"], row["messages"]) for row in tally.top(100_000).rows}


def counted(rows: list[Row], *keys: str) -> dict[tuple[object, ...], tuple[object, object]]:
    size, count = Counter[tuple[object, ...]](), Counter[tuple[object, ...]]()
    for row in rows:
        key = tuple(row[each] for each in keys)
        size[key] += 0 if row["inner_index"] else int(str(row["record_size"]))
        count[key] += 1
    return {key: (size[key], count[key]) for key in count}


def microseconds(time: object) -> int:
    assert isinstance(time, datetime)
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize("name", thinned(NAMES, 9))
def test_the_facts_of_a_brokers_store(own_store: Callable[[str], Golden], name: str) -> None:
    store = opened(own_store(name))
    facts = store.report(now=NOW // 1000, verify=True)
    log = facts.log
    scan = store.messages(columns="*", mode="DROPMALFORMED", fail_on_data_loss=False)
    rows = scan.to_table().to_pylist()
    for row in rows:
        row["born_host"] = str(row["born_host"]).rpartition(":")[0]
    assert log.messages == len(rows)
    assert sums(log.places, "topic", "queue_id", "kind") == counted(rows, "topic", "queue_id", "kind")
    assert sums(log.topics, "topic") == counted(rows, "topic")
    assert sums(log.tags, "topic", "tags") == counted(rows, "topic", "tags")
    assert sums(log.hosts, "born_host", "topic") == counted(rows, "born_host", "topic")
    assert sums(log.segments, "segment") == counted(rows, "segment")
    times = [microseconds(row["store_timestamp"]) for row in rows]
    assert (log.first, log.last) == (min(times), max(times))
    sizes = [int(str(row["record_size"])) for row in rows if not row["inner_index"]]
    assert (int(log.size_records.sum()), int(log.size_bytes.sum())) == (len(sizes), sum(sizes))
    for number, most in enumerate(SIZES):
        assert int(log.size_records[: number + 1].sum()) == sum(size <= most for size in sizes)
    assert sum(size for _, size, _ in log.times.series(240)[1]) == sum(sizes)
    largest = {row["topic"]: row["largest"] for row in log.places.by("topic").top(1000).rows}
    assert largest == {topic: max(int(str(row["record_size"])) for row in rows if row["topic"] == topic) for topic in largest}
    _the_other_tables(store, facts)


def _the_other_tables(store: nr.Store, facts: Facts) -> None:
    damage = store.table("damage").to_table().to_pylist()
    assert facts.damaged_places == len(damage)
    assert facts.damaged_bytes == sum(row["bytes"] for row in damage)
    assert sum(account.size for account in facts.log.accounts) == facts.size

    assert isinstance(facts.lag, LagOfGroups)
    offsets = store.table("consumer_offsets").to_table().to_pylist()
    lags, expired, oldest = Counter[tuple[object, object]](), Counter[tuple[object, object]](), dict[tuple[object, object], int]()
    for row in offsets:
        group = row["group"], row["topic"]
        lags[group] += max(0, row["lag"] or 0)
        expired[group] += row["expired"] or 0
        if row["oldest_unread"] is not None:
            oldest[group] = min(oldest.get(group, 1 << 62), round(row["oldest_unread"].timestamp() * 1_000_000))
    assert facts.lag.offsets == len(offsets)
    assert facts.lag.unknown == sum(row["lag"] is None for row in offsets)
    groups = {(row["group"], row["topic"]): row for row in facts.lag.groups.top(1000).rows}
    assert {group: row["lag"] for group, row in groups.items()} == lags
    assert {group: row["expired"] for group, row in groups.items()} == expired
    assert {group: row["oldest"] for group, row in groups.items() if row["oldest"] is not None} == oldest

    assert isinstance(facts.dead, Tally)
    names = ("group", "origin_topic", "messages", "bytes")
    dead = {tuple(row[name] for name in names) for row in facts.dead.top(1000).rows}
    assert dead == {tuple(row[name] for name in names) for row in store.table("dlq").to_table().to_pylist()}

    assert isinstance(facts.pending, Pending)
    delayed = Counter[tuple[object, object]]()
    for row in store.table("delay").to_table().to_pylist():
        delayed[row["delay_level"], row["state"]] += 1
    for row in store.table("timers").to_table().to_pylist():
        delayed[None, row["state"]] += 1
    assert {(row["level"], row["state"]): row["messages"] for row in facts.pending.delayed.top(1000).rows} == delayed
    transactions = store.table("transactions").to_table().to_pylist()
    assert facts.pending.fates == Counter(row["fate"] for row in transactions)
    undecided = sum(row["fate"] == "undecided" for row in transactions)
    assert facts.pending.halves.totals()["messages"] == undecided

    assert isinstance(facts.findings, FirstFindings)
    assert facts.findings.counts == Counter(store.verify().to_table()["severity"].to_pylist())
    assert facts.is_clean == (not damage and not facts.findings.counts["error"] and not facts.findings.counts["warning"])


def test_queue_skew_and_wrong_times() -> None:
    messages = [message(number, topic="skewed", queue_id=int(number % 10 == 0)) for number in range(100)]
    messages += [message(number, topic="even", queue_id=number % 2) for number in range(100)]
    messages += [message(number, topic="SCHEDULE_TOPIC_XXXX", queue_id=number % 10 // 9) for number in range(100)]
    messages.append(message(1, topic="one", store_timestamp=NOW // 1000 + 10 * DAY // 1000))
    memory = in_memory(files_of(log_of(messages)))
    log = nr.open(f"{memory.url}/store").report(now=NOW // 1000).log
    found = skews(log)
    assert [(each.topic, each.queues, each.fullest, each.messages, each.mean) for each in found] == [
        ("skewed", 2, 0, 90, 50.0),
        ("even", 2, 0, 50, 50.0),
    ]
    assert [each.excess for each in found] == [40.0, 0.0]
    assert log.wrong_times == 1
    assert log.last is not None
    assert log.last < NOW


def test_the_pace() -> None:
    start = 1_700_000_000_000
    messages = [message(each, topic="T", body=b"x" * 100, store_timestamp=start + each * 3_600_000) for each in range(72)]
    memory = in_memory(files_of(log_of(messages, segment_size=8192)))
    log = nr.open(f"{memory.url}/store").report(now=NOW // 1000).log
    size = log.segments.totals()["bytes"]
    pace = pace_of(log)
    assert pace is not None
    assert pace.whole == pytest.approx(size * DAY / (71 * HOUR))
    assert pace.recent == pytest.approx(size / 72 * 24, rel=0.01)
    memory = in_memory()
    assert pace_of(nr.open(f"{memory.url}/store").report(now=NOW // 1000).log) is None


def test_names_are_whole_and_ports_are_not_counted() -> None:
    hosts = [(bytes([10, 0, 0, 1]), port) for port in range(50)] + [(bytes(15) + b"\1", port) for port in range(50)]
    messages = [
        message(number, born_host=host, properties=pack_properties({"TAGS": "t" * 1000 + str(number)})) for number, host in enumerate(hosts)
    ]
    memory = in_memory(files_of(log_of(messages, segment_size=1 << 16)))
    log = nr.open(f"{memory.url}/store").report(now=NOW // 1000).log
    assert [row["messages"] for row in log.hosts.by("born_host").top(10).rows] == [50, 50]
    assert {str(row["tags"]) for row in log.tags.top(100).rows} == {"t" * 1000 + str(number) for number in range(100)}


def test_a_report_is_about_one_store() -> None:
    memory = in_memory(files_of(under="a/commitlog") | files_of(under="b/commitlog"))
    with pytest.raises(nr.OptionError, match=r"this path has 2: .*/a, .*/b"):
        nr.open(f"{memory.url}").report(now=NOW // 1000)


def test_a_table_that_cannot_be_read_does_not_stop_the_report() -> None:
    memory = in_memory(files_of() | {"store/config/consumerOffset.json": b"{ broken"})
    facts = nr.open(f"{memory.url}/store").report(now=NOW // 1000)
    assert not isinstance(facts.lag, LagOfGroups)
    assert "consumerOffset.json" in facts.lag.text
    assert facts.log.messages == 30


@pytest.mark.parametrize(("queues", "most"), [(True, 1.3), (False, 3.1)])
def test_the_log_is_read_once(tmp_path: Path, queues: bool, most: float) -> None:
    """Also without consume queues, by which the tables of pending messages could skip what they do not need.

    What a starting broker would check is read too: the last of eight segments, and all of them if there are no queues. Then all of a small
    log is read once more, to count what consumers would get.
    """
    write_store(tmp_path / "store", StoreSpec(bytes=8 << 20, mapped_file_size_commit_log=1 << 20, queues=queues, index=False))
    for_heads, for_facts = (FaultyStorage(tmp_path.as_uri()) for _ in range(2))
    nr.open(f"{for_heads.url}/store").messages(columns="heads").to_table()
    facts = nr.open(f"{for_facts.url}/store").report(now=NOW // 1000)
    assert isinstance(facts.pending, Pending)
    assert facts.pending.fates.total() > 0
    assert facts.pending.delayed.totals()["messages"] > 0
    assert for_facts.bytes_read < most * for_heads.bytes_read


def test_too_many_pending_messages_are_read_in_passes_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_store(tmp_path / "store", StoreSpec(bytes=8 << 20, mapped_file_size_commit_log=1 << 20))
    store = nr.open(tmp_path / "store")
    known = store.report(now=NOW // 1000).pending
    monkeypatch.setattr("native_reader.facts.seen.MOST_PLACES", 3)
    unknown = store.report(now=NOW // 1000).pending
    assert isinstance(known, Pending)
    assert isinstance(unknown, Pending)
    assert known.fates == unknown.fates
    assert known.fates
    for one, other in ((known.delayed, unknown.delayed), (known.halves, unknown.halves)):
        assert one.top(1000) == other.top(1000)


def test_what_is_older_than_the_log_is_what_the_table_of_queues_says(tmp_path: Path) -> None:
    write_store(tmp_path / "store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=256 << 10, expired=2))
    store = nr.open(tmp_path / "store")
    expected = Counter[str]()
    for row in store.queues().to_table().to_pylist():
        expected[row["topic"]] += row["expired"] if row["type"] != "LMQ" else 0
    assert store.report(now=NOW // 1000).older == dict(+expected)
    assert +expected
