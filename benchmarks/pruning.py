"""Compares narrow queries with reading everything. Part of `make bench`.

The store is written by the project's own writer. One topic has half of the records; three have a hundredth each: one of them exists in a
fifth of the log, one was deleted. With a JDK 17 and Maven, RocketMQ's store class reads the same topics from a copy.
"""

from __future__ import annotations

import pickle
import resource
import shutil
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "brokers"))

from measure import GIB, MIB, by_kernel, forget, interleaved, parser_of, print_head, print_ratio, store_at
from rocketmq import Java, missing

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.records import Message, encode
from native_reader.testing.spec import StoreSpec
from native_reader.tuning import tuned

STAT = "topic,record_size,inner_index,store_timestamp"
HALF, SMALL, YOUNG, DELETED = "orders", "sessions", "search-queries", "pricing"
PLANNED: tuple[dict[str, Any], ...] = (
    {"topic": "topic-7"},
    {"topic": "topic-7", "access": "trust"},
    {"topic": "gone"},
    {"starting_timestamp": 1_700_000_005_000},
)
SPEC: dict[str, Any] = {
    "shares": {HALF: 0.5, SMALL: 0.01, YOUNG: 0.01, DELETED: 0.01},
    "lives": {YOUNG: (0.6, 0.8)},
    "deleted": DELETED,
    "index": False,
}


def read(store: nr.Store, **options: Any) -> nr.Run:
    run = store.messages(**options).run()
    for _ in run:
        pass
    return run


def by_queue(store: nr.Store, rounds: int) -> None:
    """Topics of several kinds; the times include planning."""
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("a topic of 1 %, `auto`", {"topic": SMALL}, "≤ 1/25 = 0.04"),
        ("a topic of 1 %, `trust`", {"topic": SMALL, "access": "trust"}, "≤ 0.033"),
        ("a topic of 1 %, `scan`", {"topic": SMALL, "access": "scan"}, ""),
        ("a topic of 50 %, `auto`", {"topic": HALF}, "≤ 0.75"),
        ("a topic of 1 % that exists in 60 to 80 % of the log, `auto`", {"topic": YOUNG}, "≤ 0.3"),
        ("a topic of 1 % that exists in 60 to 80 % of the log, `trust`", {"topic": YOUNG, "access": "trust"}, "≤ 0.033"),
        ("a deleted topic of 1 %, `auto`", {"topic": DELETED}, "≤ 0.3, ≤ 5 % of the bytes"),
    ]
    works: dict[str, Callable[[], object]] = {"everything": lambda: read(store)}
    works |= {what: lambda options=options: read(store, **options) for what, options, _ in cases}
    times = by_kernel(rounds, works)
    total = sum(segment.size for segment in store.stores[0].segments)
    for what, options, wanted in cases:
        report = read(store, **options).report
        more = f"{report.rows:,} rows, {report.bytes_read / total:.2%} of the log's bytes read"
        print_ratio(f"{what} ÷ everything; {more}", times, what, "everything", wanted)


def by_share(folder: Path, rounds: int) -> None:
    """Topics of a growing share of the log, and what the choice of access is worth: CPU time, of all threads."""
    for body, size in ((1024, GIB), (100, GIB // 4)):
        shares = {"sessions": 0.01, "payments": 0.03, "invoices": 0.08, "search-queries": 0.16, "orders": 0.32}
        spec = StoreSpec(bytes=size, body=body, shares=shares, index=False, mapped_file_size_commit_log=size)
        store = nr.open(store_at(folder / f"shares-{body}", spec))
        for topic, share in shares.items():
            print(f"| body {body}, {share:.0%} of the records | {' | '.join(figures_of(store, topic, rounds))} |", flush=True)


def figures_of(store: nr.Store, topic: str, rounds: int) -> list[str]:
    """A topic by `scan`, `auto` and `trust` ÷ everything; `auto` ÷ `scan`; and what was estimated of the last."""
    works = [lambda: read(store), *(lambda access=access: read(store, topic=topic, access=access) for access in ("scan", "auto", "trust"))]
    everything, scan, auto, trust = (min(times) for times in zip(*interleaved(rounds, *works, clock=time.process_time), strict=True))
    (way,) = store.messages(topic=topic).explain().to_dict()["ways"]
    ratios = scan / everything, auto / everything, trust / everything, auto / scan
    return [*(f"{ratio:.3f}" for ratio in ratios), f"{way['costs']['queues'] / way['costs']['scan']:.2f}: {way['access']}"]


def by_summary(folder: Path, body: int, size: int, rounds: int) -> None:
    """The same topics and a key by a summary, in the segments that it covers; and what it takes to write it: CPU time, of all threads."""
    shares, segment = {"sessions": 0.01, "payments": 0.03, "search-queries": 0.16}, size // 4
    spec = StoreSpec(bytes=size, body=body, shares=shares, index=False, mapped_file_size_commit_log=segment)
    name = f"{body}-{size // MIB}MiB"
    store, summary = nr.open(store_at(folder / f"summarized-{name}", spec)), folder / f"summary-{name}"
    full: dict[str, Any] = {"ending_physical_offset": 3 * segment}
    key = store.messages(topic="payments", where="uniq_key IS NOT NULL", columns="uniq_key").head(1)["uniq_key"][0].as_py()
    cases: dict[str, dict[str, Any]] = {f"{share:.0%} of the records": {"topic": topic} for topic, share in shares.items()}
    cases |= {"a key, without index files": {"where": f"uniq_key = '{key}'"}}
    works = [lambda: read(store, **full), lambda: read(store, columns="heads", **full), lambda: _write_summary(store, summary)]
    works += [lambda: read(store, columns=STAT, **full), lambda: read(store, columns=STAT, summary=summary, **full)]
    works += [lambda options=options: read(store, summary=summary, **full, **options) for options in cases.values()]
    times = interleaved(rounds, *works, clock=time.process_time)
    everything, heads, written, plain, counted, *found = (min(each) for each in zip(*times, strict=True))
    share, what = sum(file.stat().st_size for file in summary.iterdir()) / (3 * segment), f"body {body}, {segment // MIB} MiB"
    print(f"| {what}: write it | {written:.2f} s | {written / heads:.2f} of `heads` | {share:.2%} of the log's bytes |", flush=True)
    print(f"| {what}: columns of `stat` | {counted * 1e3:,.1f} ms | {counted / plain:.3f} of the same without it | |", flush=True)
    for case, one in zip(cases, found, strict=True):
        print(f"| {what}: {case} | {one * 1e3:,.1f} ms | {one / everything:.3f} of everything | |", flush=True)
    if segment == GIB:
        _when_cold(store, summary, full)


def _when_cold(store: nr.Store, summary: Path, full: dict[str, Any]) -> None:
    """The same when neither the log nor the summary is in memory: wall time, so that of a disk."""
    for share, topic in (("1 %", "sessions"), ("3 %", "payments")):
        best = {}
        for what, how in (("scan", {"access": "scan"}), ("summary", {"summary": summary})) * 3:
            forget(*(Path(urlsplit(segment.uri).path) for segment in store.stores[0].segments), *summary.iterdir())
            begun = time.perf_counter()
            read(store, topic=topic, **how, **full)
            best[what] = min(time.perf_counter() - begun, best.get(what, 1e9))
        ratio = f"{best['summary'] / best['scan']:.3f} of its scan, {best['scan']:.2f} s"
        print(f"| not in memory: {share} of the records | {best['summary']:.2f} s | {ratio} | |", flush=True)


def _write_summary(store: nr.Store, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    store.summarize(folder)


@tuned(most_share=99)
def break_even(store: nr.Store, rounds: int) -> None:
    """Read a growing share of the log through the queues and by a scan, with the automatic choice disabled."""
    rows = store.messages(columns="topic,record_size").to_table().group_by("topic").aggregate([("record_size", "sum")]).to_pylist()
    sizes = {row["topic"]: row["record_size_sum"] for row in sorted(rows, key=lambda row: row["record_size_sum"])}
    total = sum(sizes.values())
    ours = [topic for topic, size in sizes.items() if size > total // 200 and topic != HALF]
    for wanted in (ours[:2], ours[:4], ours[:8], [HALF], ours, [HALF, *ours[:8]]):
        where = f"topic IN ({', '.join(repr(topic) for topic in wanted)})"
        works = [lambda access=access, where=where: read(store, where=where, access=access) for access in ("scan", "auto", "trust")]
        scan, auto, trust = (min(times) for times in zip(*interleaved(rounds, *works), strict=True))
        share = sum(sizes[topic] for topic in wanted) / total
        print(
            f"| {share:.0%} of the log | {scan * 1e3:,.0f} ms | auto {auto / scan:.2f} | trust {trust / scan:.2f} of a scan | |", flush=True
        )


def by_tag(store: nr.Store) -> None:
    """A hundredth of a large topic, selected by a tag in the first part of its queues."""
    table = store.messages(topic=HALF, columns="tags,record_size,queue_offset").to_table()
    size, rows, tag = sum(table["record_size"].to_pylist()), table.num_rows, table["tags"].drop_null()[0].as_py()
    places = sorted(row["queue_offset"] for row in table.to_pylist() if row["tags"] == tag)
    where = f"topic = '{HALF}' AND tags = '{tag}' AND queue_offset < {places[rows // 100]}"
    for access in ("trust", "auto"):
        report = read(store, where=where, access=access).report
        what = f"{report.rows / rows:.2%} of the topic of 50 %, by a tag in the first part of its queues, `{access}`"
        print(f"| {what} | | | ≤ 2 % of the topic's bytes | {report.bytes_read / size:.2%} of them |")


def by_time(folder: Path) -> None:
    """One hundredth of a log with a hundred segments, selected by time."""
    store = nr.open(store_at(folder / "timed-100x16MiB", StoreSpec(bytes=1600 * MIB, mapped_file_size_commit_log=16 * MIB, index=False)))
    moments = store.messages(columns="store_timestamp").to_table()["store_timestamp"].cast("int64")
    first, last = moments[0].as_py() // 1000, moments[-1].as_py() // 1000
    begin, total = first + (last - first) // 3, sum(segment.size for segment in store.stores[0].segments)
    faulty = FaultyStorage((folder / "timed-100x16MiB").absolute().as_uri().rsplit("/", 1)[0])
    for tolerance in ("0s", "1s", "1m"):
        before = faulty.bytes_read
        options = {"starting_timestamp": begin, "ending_timestamp": begin + (last - first) // 100, "time_skew_tolerance": tolerance}
        report = read(nr.open(f"{faulty.url}/timed-100x16MiB"), **options, max_partition_bytes=8 * MIB).report
        share = (faulty.bytes_read - before) / total
        what = f"1 % of the time, tolerance {tolerance}"
        print(f"| {what} | | | ≤ 1 % and two heads | {report.rows:,} rows, {share:.2%} of all bytes read, planning included |")


def planning(folder: Path) -> None:
    """Plan with 10,000 segments and 1,000 topics of 8 queues."""
    root = folder / "planned" / "store"
    if not root.exists():
        _planned(root)
    for delay in (0.0, 0.005):
        for options in PLANNED:
            faulty = FaultyStorage(root.parent.absolute().as_uri(), delay)
            before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
            plan = nr.open(f"{faulty.url}/store").messages(**options).plan()
            tasks = plan.packed()
            spent, grown = time.perf_counter() - begun, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            size = sum(len(pickle.dumps(task)) for task in tasks) // max(1, len(plan.splits))
            print(
                f"| plan {options}, {delay * 1000:.0f} ms a call | {spent:.2f} s | | ≤ 3 s, ≤ 50 MB | {faulty.calls.total():,} calls, "
                f"{grown:.0f} MB, {len(plan.splits):,} splits of {size} bytes in {len(tasks):,} tasks |",
                flush=True,
            )


def _planned(root: Path) -> None:
    (root / "commitlog").mkdir(parents=True)
    for number in range(10_000):
        base = number * GIB
        message = Message(topic="topic-7", queue_id=number % 8, queue_offset=number // 8, store_timestamp=1_700_000_000_000 + number * 1000)
        with (root / "commitlog" / f"{base:020}").open("wb") as file:
            file.truncate(GIB)
            file.write(encode(message, base))
    for topic in range(1000):
        for queue in range(8):
            directory = root / "consumequeue" / f"topic-{topic}" / str(queue)
            directory.mkdir(parents=True)
            with (directory / f"{0:020}").open("wb") as file:
                file.truncate(6_000_000)
                if topic == 7:
                    file.write(b"".join(struct.pack(">qiq", (number * 8 + queue) * GIB, 93, 0) for number in range(1250)))
                else:
                    places = ((number * 200) * GIB + 1000 + (topic * 8 + queue) * 100 for number in range(50))
                    file.write(b"".join(struct.pack(">qiq", place, 100, 0) for place in places))


def against_java(folder: Path, store: nr.Store, path: Path, rounds: int) -> None:
    """Read the same topic with RocketMQ's own store class. It uses a copy, because it writes into its store."""
    reason = missing()
    if reason is not None:
        print(f"not compared with Java: {reason}")
        return
    home = folder / "java-reads"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(path, home / "store")
    (home / "conf").write_text("maxTransferCountOnMessageInMemory=1000\nmaxTransferBytesOnMessageInMemory=4194304\n")
    for topic in (SMALL, HALF):
        lines = Java("5.5.0").run("ReadTopic", home / "store", home / "conf", topic, rounds + 5, home=home / "run")
        java, records = min(line["seconds"] for line in lines[5:]), lines[0]["records"]
        times = interleaved(rounds, lambda topic=topic: read(store, topic=topic, access="trust"))
        ours = min(each[0] for each in times)
        what = f"topic {topic} by its queues, Java {java * 1e3:,.0f} ms"
        print(f"| {what} | {ours * 1e3:,.0f} ms | {ours / java:.2f} of Java's | ≤ 4 | {records:,} records |")
    shutil.rmtree(home)


def main() -> None:
    arguments = parser_of(__doc__, 2 * GIB, 7).parse_args()
    pa.set_cpu_count(1)
    folder = arguments.folder
    path = folder / f"pruning-{arguments.bytes // MIB}MiB"
    store = nr.open(store_at(path, StoreSpec(bytes=arguments.bytes, **SPEC)))
    print_head()
    by_queue(store, arguments.rounds)
    print("\n| a topic, CPU | scan ÷ everything | auto | trust | auto ÷ scan | estimated: chosen |\n|---|---|---|---|---|---|")
    by_share(folder, arguments.rounds)
    print("\n| by summary, CPU | time | | |\n|---|---|---|---|")
    by_summary(folder, 1024, GIB, arguments.rounds)
    by_summary(folder, 100, GIB // 4, arguments.rounds)
    by_summary(folder, 1024, 4 * GIB, arguments.rounds)
    print("\n| what | time | ÷ everything | wanted | |\n|---|---|---|---|---|")
    break_even(store, arguments.rounds)
    by_tag(store)
    by_time(folder)
    planning(folder)
    against_java(folder, store, path, arguments.rounds)


if __name__ == "__main__":
    main()
