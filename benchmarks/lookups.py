"""Measures looking up a message by its key. Part of `make bench`.

The index files have a broker's default size: 5 million slots and 20 million entries. The first ten of each store are full, 420 MB each;
the others are sparse. The log is sparse too: a segment for each index file, with the records that are read.
"""

from __future__ import annotations

import os
import shutil
import statistics
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "brokers"))

from measure import GIB, Times, by_kernel, interleaved, parser_of, print_head, print_row
from pruning import read
from rocketmq import Java, missing

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.java import index_hash
from native_reader.testing.records import Message, encode, pack_properties

SLOTS, ENTRIES = 5_000_000, 20_000_000
ENTRY = np.dtype([("hash", ">i4"), ("offset", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])
TOPICS, FULL = 1000, 10
_ENTRIES_AT = 40 + 4 * SLOTS


def record(topic: str, key: str, offset: int) -> bytes:
    return encode(
        Message(topic=topic, body=b"x" * 1000, properties=pack_properties({"KEYS": key}), store_timestamp=1_700_000_000_000), offset
    )


def made(root: Path, files: int) -> nr.Store:
    """A store with that many index files, written if it does not exist. The key `order-7` is in the middle file."""
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        (root / "commitlog").mkdir(parents=True)
        (root / "index").mkdir()
        for topic in range(TOPICS):
            (root / "consumequeue" / f"topic-{topic}" / "0").mkdir(parents=True)
        for number in range(files + 1):
            _segment(root, number, files)
        (root / "done").touch()
    return nr.open(root)


def _segment(root: Path, number: int, files: int) -> None:
    base, keyed = number * GIB, "order-7" if number == files // 2 else f"order-{number}00"
    last = base + GIB - len(record("topic-0", f"last-{number}", 0))
    places = {base: ("topic-0", f"first-{number}"), base + GIB // 2: ("topic-7", keyed), last: ("topic-0", f"last-{number}")}
    with (root / "commitlog" / f"{base:020}").open("wb") as file:
        file.truncate(GIB)
        for offset, (topic, key) in places.items() if number < files else list(places.items())[:1]:
            file.seek(offset - base)
            file.write(record(topic, key, offset))
    if number < files:
        path, is_full = root / "index" / f"2026{number:013}", number < FULL
        if is_full and files > FULL and number != FULL // 2:  # the same keys as in that store, so the same bytes
            path.hardlink_to(root.parent / f"keys-{FULL}" / "index" / path.name)
        else:
            _index(path, [(index_hash(topic, key), offset) for offset, (topic, key) in places.items()], full=is_full)


def _index(path: Path, hits: list[tuple[int, int]], *, full: bool) -> None:
    """A file with these first, middle and last entries; a full file has others between them."""
    numbers = np.array([1, ENTRIES // 2, ENTRIES - 1])
    entries = np.zeros(ENTRIES if full else 3, ENTRY)
    which = numbers if full else np.arange(3)
    if full:
        random = np.random.default_rng(7)
        entries["hash"] = random.integers(0, 2**31, ENTRIES)
        entries["offset"] = np.linspace(hits[0][1], hits[-1][1], ENTRIES).astype(np.int64)
    entries["hash"][which], entries["offset"][which] = zip(*hits, strict=True)
    slots = entries["hash"].astype(np.int64) % SLOTS
    table = np.zeros(SLOTS, ">i4")
    if full:
        slots[0] = -1
        order = np.argsort(slots, kind="stable")
        same = slots[order[1:]] == slots[order[:-1]]
        entries["previous"][order[1:][same]] = order[:-1][same]
        last = np.append(~same, True)
        table[slots[order[last]][1:]] = order[last][1:]
    else:
        table[slots] = numbers
    with path.open("wb") as file:
        file.truncate(_ENTRIES_AT + ENTRY.itemsize * ENTRIES)
        file.write(struct.pack(">4q2i", 1_700_000_000_000, 1_700_000_000_000, hits[0][1], hits[-1][1], 0, ENTRIES))
        if full:
            file.write(table.tobytes() + entries.tobytes())
        else:
            for slot in slots.tolist():
                file.seek(40 + 4 * slot)
                file.write(table[slot : slot + 1].tobytes())
            for number, entry in zip(numbers.tolist(), entries, strict=True):
                file.seek(_ENTRIES_AT + ENTRY.itemsize * number)
                file.write(entry.tobytes())


def by_key(folder: Path, rounds: int) -> None:
    """Look up one record by topic and key; the times include planning, but not opening."""
    known = {"topic": "topic-7"}
    for files, wanted in ((1, "≤ 10 ms"), (10, ""), (100, "≤ 20 ms")):
        root = folder / f"keys-{files}"
        store = made(root, files)
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("its topic known, `auto`", known, wanted),
            ("its topic known, `trust`", known | {"access": "trust"}, "≤ 20 ms"),
            (f"{TOPICS:,} topics, `trust`", {"access": "trust"}, "≤ 1 s"),
        ]
        works: dict[str, Callable[[], object]] = {"opening": lambda root=root: nr.open(root)}
        works |= {what: lambda store=store, how=how: read(store, keys="order-7", **how) for what, how, _ in cases}
        times = by_kernel(rounds, works)
        print_row(f"opening a store of {files + 1} segments", in_ms(times, "opening"))
        for what, how, wanted_of_case in cases:
            faulty = FaultyStorage(folder.as_uri())
            run = read(nr.open(f"{faulty.url}/keys-{files}"), keys="order-7", **how)
            assert run.report.rows == 1
            more = f"{run.report.bytes_read:,} bytes of the log, {faulty.calls.total():,} calls with opening"
            print_row(f"a key in {files} index files, {what}; {more}", in_ms(times, what), wanted_of_case)


def in_ms(times: Mapping[str, Times], name: str) -> list[str]:
    """Best and median, for each kernel."""
    return [f"{min(of[name]) * 1e3:.1f} ({statistics.median(of[name]) * 1e3:.1f}) ms" for of in times.values()]


def by_spark(folder: Path, rounds: int) -> None:
    """The same through Spark, compared with a query on an empty store."""
    from pyspark.sql import SparkSession

    import rmqstore_spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    (folder / "empty-store" / "commitlog").mkdir(parents=True, exist_ok=True)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    rmqstore_spark.register(session)

    def rows(path: Path, **options: str) -> list[Any]:
        return session.read.format("rocketmq-store").options(**options).load(str(path)).collect()

    conditions = {"topic": "topic-7", "keys": "order-7"}
    works: list[Callable[[], object]] = [
        lambda: rows(folder / "empty-store", **conditions),
        lambda: rows(folder / "keys-10", **conditions),
        lambda: rows(folder / "keys-10", access="trust", **conditions),
    ]
    for work in works * 4:
        work()
    times = interleaved(rounds, *works)
    empty, auto, trust = (statistics.median(each[which] for each in times) for which in range(3))
    shares = f"`auto` {auto / empty:.2f}, `trust` {trust / empty:.2f} of it, wanted ≤ 1.2"
    print(f"\nThrough Spark: an empty store {empty * 1e3:.0f} ms; 10 index files {shares}")
    session.stop()


def against_java(folder: Path, path: Path, rounds: int) -> None:
    """Look up a key in a store written by RocketMQ's own class: with that class in a copy, and with ours."""
    reason = missing()
    if reason is not None or not path.exists():
        print(f"not compared with Java: {reason or f'{path} does not exist'}")
        return
    home = folder / "java-queries"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    subprocess.run(["cp", "-r", "--sparse=always", path, home / "store"], check=True)  # keep holes
    (home / "store" / "abort").unlink(missing_ok=True)  # its writer was not stopped, but had written everything
    shutil.copy(path.parent / "conf", home / "conf")
    store = nr.open(home / "store")
    wanted = next(
        row for row in store.messages(columns="topic,uniq_key,keys").head(20000).to_pylist()[::-1] if row["uniq_key"] or row["keys"]
    )
    key = wanted["uniq_key"] or wanted["keys"][0]
    conditions = {"topic": wanted["topic"], "where": f"array_contains(keys, '{key}') OR uniq_key = '{key}'"}
    works: list[Callable[[], object]] = [lambda access=access: read(store, access=access, **conditions) for access in ("auto", "trust")]
    auto, trust = (statistics.median(times) * 1e3 for times in zip(*interleaved(rounds, *works), strict=True))
    lines = Java("5.5.0").run("QueryKey", home / "store", home / "conf", wanted["topic"], key, rounds * 200, home=home / "run")
    java = statistics.median(line["seconds"] for line in lines[rounds * 100 :])
    print(f"A key, {lines[-1]['records']} records: Java {java * 1e6:.1f} µs, `auto` {auto:.2f} ms, `trust` {trust:.2f} ms")
    shutil.rmtree(home)


def main() -> None:
    arguments = parser_of(__doc__, 512 << 20, 15).parse_args()
    pa.set_cpu_count(1)
    print_head()
    by_key(arguments.folder, arguments.rounds)
    by_spark(arguments.folder, arguments.rounds)
    against_java(arguments.folder, arguments.folder / f"java-1-KiB-{arguments.bytes >> 20}MiB" / "store", arguments.rounds)


if __name__ == "__main__":
    main()
