"""Measures stores of many segments: what each question costs as the store grows to 10,000 segments and 1 TiB.

The segments are sparse: each has twenty real records, then the blank of a broker up to its end. The queues and the index files are
complete. Each figure is of a process of its own. Part of `make bench`; `--spark` adds a stream of three triggers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import GIB, parser_of, print_setting

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.java import hash_code, index_hash
from native_reader.testing.queues import QUEUE_ENTRY, NumberedQueues, QueueName
from native_reader.testing.records import Message, blank, encode, pack_properties
from native_reader.writing.index import IndexFiles

SEGMENT = (1 << 40) // 10_000
SEGMENTS = (100, 1_000, 10_000)
RECORDS = 20
TOPICS, QUEUES = 100, 4
BEGIN = 1_700_000_000_000
MINUTE = 60_000
"""Each segment is one minute of the log, in milliseconds."""
INDEX_KEYS = 4_000
"""Slots and keys of one index file. A store of 1 TiB has 50 of them, as with a broker's defaults and records of 1 KiB."""
HOUR = {"starting_timestamp": BEGIN + 10 * MINUTE, "ending_timestamp": BEGIN + 70 * MINUTE}
HEADS = "topic,queue_id,queue_offset,physical_offset,store_timestamp"
PER_TRIGGER = 3 << 30


def made(root: Path, segments: int, size: int = SEGMENT) -> Path:
    """The store, written if it does not exist."""
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        (root / "commitlog").mkdir(parents=True)
        (root / "index").mkdir()
        queues, index = NumberedQueues(root, 6_000_000, 300_000), IndexFiles(root / "index", INDEX_KEYS, INDEX_KEYS + 1)
        for number in range(segments):
            _segment(root, number, size, queues, index)
        queues.close()
        index.close()
        (root / "done").touch()
    return root


def _segment(root: Path, number: int, size: int, queues: NumberedQueues, index: IndexFiles) -> None:
    base = offset = number * size
    records, numbers, entries, hashes = [], [], [], []
    for each in range(number * RECORDS, (number + 1) * RECORDS):
        topic, queue, key = f"topic-{each % TOPICS:02}", each // TOPICS % QUEUES, f"order-{each}"
        record = encode(
            Message(
                topic=topic,
                queue_id=queue,
                queue_offset=each // (TOPICS * QUEUES),
                body=b"x" * 250,
                properties=pack_properties({"KEYS": key, "TAGS": "paid"}),
                store_timestamp=BEGIN + number * MINUTE,
            ),
            offset,
        )
        records.append(record)
        numbers.append(queues.number(QueueName(topic, queue)))
        entries.append((offset, len(record), hash_code("paid")))
        hashes.append(index_hash(topic, key))
        offset += len(record)
    with (root / "commitlog" / f"{base:020}").open("wb") as file:
        file.write(b"".join(records) + blank(size - (offset - base))[:8])
        file.truncate(size)
    queues.append(np.array(numbers, np.uint16), np.array(entries, QUEUE_ENTRY))
    offsets = np.array([entry[0] for entry in entries], np.int64)
    index.put(np.array(hashes, np.int64), offsets, np.full(RECORDS, BEGIN + number * MINUTE, np.int64))


def _rows(store: nr.Store, **conditions: Any) -> int:
    run = store.messages(**{"columns": HEADS, **conditions}).run()
    return sum(len(batch) for batch in run)


QUESTIONS: dict[str, Callable[[nr.Store], object]] = {
    "open": lambda _: None,
    "plan everything": lambda store: len(store.messages(columns=HEADS).plan().splits),
    "explain a topic": lambda store: len(str(store.messages(topic="topic-07").explain())),
    "a topic of 1 %, `trust`": lambda store: _rows(store, topic="topic-07", access="trust"),
    "a topic of 1 %, `auto`": lambda store: _rows(store, topic="topic-07"),
    "a topic of 1 %, `scan`": lambda store: _rows(store, topic="topic-07", access="scan"),
    "one hour": lambda store: _rows(store, **HOUR),
    "one topic, one hour, `trust`": lambda store: _rows(store, topic="topic-07", access="trust", **HOUR),
    "a key, its topic known": lambda store: _rows(store, topic="topic-07", keys="order-1007", max_hash_slot_num=INDEX_KEYS),
    "the table `queues`": lambda store: store.table("queues").to_table().num_rows,
    "the table `segments`": lambda store: store.table("segments").to_table().num_rows,
}

SUMMARIZED: dict[str, dict[str, Any]] = {
    "a topic of 1 %, 205 rows": {"topic": "topic-07"},
    "a key, its topic known": {"topic": "topic-07", "keys": "order-1007", "max_hash_slot_num": INDEX_KEYS},
    "a key, its topic not known": {"keys": "order-1007", "max_hash_slot_num": INDEX_KEYS},
    "one hour, 1,200 rows": HOUR,
    "columns of `stat`, 20,480 rows": {"columns": "topic,queue_id,record_size,store_timestamp", "where": "kind <> 'op'"},
}


def peak(process: int | str = "self") -> int:
    """The most memory that a process used. `getrusage` would not do: a child begins with its parent's figure."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())[1]) * 1024


def answer(question: str, root: Path) -> dict[str, Any]:
    """What one question costs on one store."""
    faulty = FaultyStorage(root.parent.as_uri())
    uri = f"{faulty.url}/{root.name}" if question != "open" else str(root)
    idle, begun = peak(), time.perf_counter()
    result = QUESTIONS[question](nr.open(uri))
    spent = time.perf_counter() - begun
    return {"seconds": spent, "memory": peak() - idle, "result": result, "calls": faulty.calls.total(), "bytes": faulty.bytes_read}


def in_a_process(question: str, root: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", question, str(root)]
    answers = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(2)]
    return dict(min(answers, key=lambda each: each["seconds"]))


def print_summarized(folder: Path) -> None:
    """1 TiB in segments of a broker's default size, without a summary and with one: processor time of a second question."""
    root, summary = made(folder / "large-GiB", 1024, GIB), folder / "large-GiB-summary"
    store = nr.open(root)
    shutil.rmtree(summary, ignore_errors=True)
    spent = [_spent(lambda: store.summarize(summary)) for _ in range(2)]
    print(f"\nThe summary of 1,023 segments of 1 GiB: {spent[0]:.1f} s; again, with nothing to write: {spent[1]:.1f} s\n")
    print("| processor time | `scan` | `auto` | with the summary |\n|---|---|---|---|")
    for question, conditions in SUMMARIZED.items():
        ways: list[dict[str, Any]] = [{"access": "scan"}, {}, {"summary": str(summary)}]
        best = [min(_spent(partial(_rows, store, **conditions, **way)) for _ in range(3)) for way in ways]
        print(f"| {question} | {' | '.join(f'{each * 1e3:,.0f} ms' for each in best)} |", flush=True)


def _spent(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def streamed(root: Path) -> dict[str, Any]:
    """Three triggers from the earliest record, with Spark. The memory is that of its largest Python process."""
    from spark import session

    spark = session(2, root.parent)
    options = {"startingOffsets": "earliest", "maxBytesPerTrigger": str(PER_TRIGGER), "columns": HEADS}
    with tempfile.TemporaryDirectory() as checkpoint:
        begun = time.perf_counter()
        stream = spark.readStream.format("rocketmq-store").options(**options).load(str(root))
        query = stream.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        while len(query.recentProgress) < 3 and query.isActive:
            time.sleep(0.05)
        spent, memory = time.perf_counter() - begun, max(map(peak, _pythons(os.getpid())), default=0)
        query.stop()
        progress = [json.loads(each.json) for each in query.recentProgress[:3]]
    spark.stop()
    rows, triggers = [each["numInputRows"] for each in progress], [each["durationMs"]["triggerExecution"] / 1e3 for each in progress]
    return {"seconds": spent, "memory": memory, "rows": rows, "triggers": triggers}


def _pythons(above: int) -> list[int]:
    """The Python processes below that process."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (folder / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # ended meanwhile
            continue
        parents[int(folder.name)] = int(rest.split()[1]), name
    below, found = {above}, []
    while grown := {each for each, (parent, _) in parents.items() if parent in below} - below:
        below |= grown
    for each in below - {above}:
        if parents[each][1].startswith("python"):
            found.append(each)
    return found


def cell(answer: dict[str, Any]) -> str:
    spent = answer["seconds"]
    shown = f"{spent * 1e3:,.0f} ms" if spent < 1 else f"{spent:,.1f} s"
    more = [f"{answer['memory'] / 1e6:,.0f} MB"]
    if answer.get("calls"):
        more += [f"{answer['calls']:,} calls", f"{answer['bytes'] / 1e3:,.0f} kB"]
    if isinstance(answer.get("result"), int):
        more.insert(0, f"{answer['result']:,}")
    return f"{shown} ({', '.join(more)})"


def main() -> None:
    parser = parser_of(__doc__, 0, 0)
    parser.add_argument("--one", nargs=2, metavar=("QUESTION", "STORE"))
    parser.add_argument("--spark", action="store_true")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(answer(arguments.one[0], Path(arguments.one[1]).absolute())))
        return
    print_setting()
    stores = [made(arguments.folder / f"large-{segments}", segments) for segments in SEGMENTS]
    heads = " | ".join(f"{segments:,} segments, {segments * SEGMENT / (1 << 30):,.0f} GiB" for segments in SEGMENTS)
    print(f"| question: time (result, memory, calls, bytes read) | {heads} |\n|---|{'---|' * len(stores)}")
    for question in QUESTIONS:
        print(f"| {question} | {' | '.join(cell(in_a_process(question, root)) for root in stores)} |", flush=True)
    print_summarized(arguments.folder)
    if arguments.spark:
        for root in stores:
            found = streamed(root)
            triggers = ", ".join(f"{each:.1f}" for each in found["triggers"])
            rows = " + ".join(map(str, found["rows"]))
            print(
                f"\nA stream of {root.name}, three triggers of {PER_TRIGGER >> 30} GiB: {rows} rows; triggers {triggers} s; "
                f"{found['seconds']:.1f} s with its start; {found['memory'] / 1e6:.0f} MB in the largest Python process",
                flush=True,
            )


if __name__ == "__main__":
    main()
