"""Measures reading from object storage over a slow link: how busy a scan keeps it, what five queries fetch, and how
many calls a first answer takes.

The server has the API of S3 and runs in a process of its own. The link to it takes 10 ms for each call and passes 100 MB/s, for all
calls together. Part of `make bench`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from measure import MIB, parser_of, print_setting, store_at
from support.object_store import bucket_of

import native_reader as nr
from native_reader.testing.spec import StoreSpec

DELAY, RATE = 0.010, 100e6
SEGMENT = 256 * MIB
HEADS = "topic,queue_id,queue_offset,physical_offset,store_timestamp,record_size"


class Remote:
    """The process of the server, and the options that reach it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        begun = self._told()
        self.url, self.summary, self.fs = f"{begun['url']}/store", f"{begun['url']}/summary", begun["fs"]

    def reset(self) -> None:
        """Count from zero."""
        self._ask("reset")

    def put(self, folder: Path) -> None:
        """Give it a summary, too."""
        self._ask(f"put {folder}")

    def counted(self) -> dict[str, Any]:
        """Calls, bytes and busy seconds since the last reset."""
        return self._ask("count")

    def _ask(self, what: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._told()

    def _told(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return dict(json.loads(self._process.stdout.readline()))


def serve(root: Path) -> None:
    """Serve the store; answers the lines `reset`, `count` and `put FOLDER`."""
    files = {f"store/{path.relative_to(root)}": path for path in root.rglob("*") if path.is_file()}
    with bucket_of({}) as bucket:
        bucket.put_kept({name: path.read_bytes() for name, path in files.items()})
        link = bucket.link
        link.delay, link.rate = DELAY, RATE
        print(json.dumps({"url": bucket.url, "fs": link.fs}), flush=True)
        for line in sys.stdin:
            what, _, folder = line.rstrip("\n").partition(" ")
            if what == "reset":
                link.reset()
            if what == "put":
                bucket.put_kept({f"summary/{path.name}": path.read_bytes() for path in Path(folder).iterdir()})
            print(json.dumps({"calls": link.kinds, "bytes": link.bytes, "busy": link.busy}), flush=True)


@contextmanager
def served(root: str) -> Iterator[Remote]:
    """A server with that store."""
    command = [sys.executable, __file__, "--serve", root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Remote(process)
        finally:
            process.terminate()


def print_scans(remote: Remote, rounds: int) -> None:
    """How much of the link a scan uses, with few columns and with all."""
    print("| a scan of the whole log | best time | of the link's rate | link busy | calls |\n|---|---|---|---|---|")
    for name, columns in (
        ("six head columns", "topic,queue_id,queue_offset,physical_offset,store_timestamp,record_size"),
        ("default", None),
    ):
        for jobs in (1, 2):
            found = []
            for _ in range(rounds):
                store = nr.open(remote.url, fs=remote.fs)
                remote.reset()
                begun = time.perf_counter()
                for _ in store.messages(columns=columns).to_batches(jobs=jobs):
                    pass
                found.append((time.perf_counter() - begun, remote.counted()))
            spent, counted = min(found, key=lambda each: each[0])
            use, busy = counted["bytes"] / RATE / spent, counted["busy"] / spent
            calls = sum(counted["calls"].values())
            print(f"| {name}, `jobs={jobs}` | {spent:.2f} s | {use:.2f} | {busy:.2f} | {calls} |", flush=True)


def print_queries(remote: Remote, path: str) -> None:
    """What queries fetch, with opening and planning."""
    heads = nr.open(path).messages(columns="topic,keys,msg_id,store_timestamp").to_table()
    middle = heads.num_rows // 2
    keyed = next(row for row in heads.slice(middle).to_pylist() if row["keys"] and row["topic"] == "orders")
    moment = heads["store_timestamp"].cast("int64")[middle].as_py() // 1000
    queries: dict[str, dict[str, Any]] = {
        "a key, its topic known": {"topic": "orders", "keys": keyed["keys"][0]},
        "the same, `trust`": {"topic": "orders", "keys": keyed["keys"][0], "access": "trust"},
        "one topic, `trust`": {"topic": "search-queries", "access": "trust"},
        "one topic": {"topic": "search-queries"},
        "one second": {"starting_timestamp": moment, "ending_timestamp": moment + 1000},
    }
    size = sum(file.stat().st_size for file in (Path(path) / "commitlog").iterdir())
    print(f"\n| query, of a log of {size / MIB:,.0f} MiB | rows | time | calls | fetched |\n|---|---|---|---|---|")
    for name, conditions in queries.items():
        rows, spent, calls, fetched = _asked(remote, conditions)
        print(f"| {name} | {rows:,} | {spent:.2f} s | {calls} | {fetched / 1e3:,.0f} kB |", flush=True)


def print_summarized(remote: Remote, path: str, folder: Path, end: int) -> None:
    """What a topic and a key fetch from full segments, by a summary in the same storage and without it, with opening and planning."""
    nr.open(remote.url, fs=remote.fs).summarize(folder)
    remote.put(folder)
    store = nr.open(path)  # not through the link, which may still fetch ahead when a query was stopped early
    sizes = store.messages(columns="topic,record_size", ending_physical_offset=end).to_table()
    sums = sizes.group_by("topic").aggregate([("record_size", "sum")]).to_pylist()
    own = {each["topic"]: each["record_size_sum"] for each in sums}
    key = store.messages(topic="payments", where="uniq_key IS NOT NULL", columns="uniq_key").head(1)["uniq_key"][0].as_py()
    ways: dict[str, dict[str, Any]] = {"by the summary": {"summary": remote.summary}, "`auto`": {}, "`scan`": {"access": "scan"}}
    print(f"\n| of {end / MIB:,.0f} MiB | rows | time | calls | fetched | ÷ the topic's own bytes |\n|---|---|---|---|---|---|")
    for what, size, conditions in (
        ("a topic of 1 %", own["sessions"], {"topic": "sessions"}),
        ("a topic of 3 %", own["payments"], {"topic": "payments"}),
        ("a key", None, {"topic": "payments", "where": f"uniq_key = '{key}'"}),
    ):
        for way, options in ways.items():
            rows, spent, calls, fetched = _asked(remote, {**conditions, **options, "ending_physical_offset": end})
            share = "" if size is None else f"{fetched / size:.2f}"
            print(f"| {what}, {way} | {rows:,} | {spent:.2f} s | {calls} | {fetched / 1e3:,.0f} kB | {share} |", flush=True)


QUESTIONS: dict[str, Callable[[nr.Store, str], Any]] = {
    "open": lambda store, _: store,
    "`head(10)`": lambda store, _: store.messages().head(10),
    "a key, its topic known, `trust`": lambda store, key: store.messages(topic="orders", keys=key, access="trust").to_table(),
    "a key, its topic known": lambda store, key: store.messages(topic="orders", keys=key).to_table(),
    "a topic of 1 %, `trust`": lambda store, _: store.messages(topic="sessions", access="trust").to_table(),
    "a topic of 1 %": lambda store, _: store.messages(topic="sessions").to_table(),
    "`count_rows()`": lambda store, _: store.messages().count_rows(),
    "`queues`": lambda store, _: store.queues().to_table(),
    "`doctor`": lambda store, _: store.diagnose(),
}


def print_first_answers(remote: Remote, path: str) -> None:
    """The calls and bytes until the first answer of a process, with opening."""
    rows = nr.open(path).messages(topic="orders", columns="keys,kind", where="kind = 'normal'").to_table().to_pylist()
    key = next(row["keys"][0] for row in rows[len(rows) // 2 :] if len(row["keys"] or ()) == 1)
    print(f"\n| of {len(nr.open(path).stores[0].segments)} segments | list | head | get | fetched |\n|---|---|---|---|---|")
    for number, (name, ask) in enumerate(QUESTIONS.items()):
        remote.reset()
        ask(nr.open(remote.url, fs={**remote.fs, "connect_timeout": 10 + number}), key)  # other options: nothing is known yet
        counted = remote.counted()
        calls = [counted["calls"].get(kind, 0) for kind in ("list", "head", "get")]
        print(f"| {name} | {' | '.join(map(str, calls))} | {counted['bytes'] / 1e6:,.1f} MB |", flush=True)


def _asked(remote: Remote, options: dict[str, Any]) -> tuple[int, float, int, int]:
    """Rows, seconds, calls and bytes."""
    remote.reset()
    begun = time.perf_counter()
    rows = nr.open(remote.url, fs=remote.fs).messages(columns="topic,keys,body", **options).to_table().num_rows
    spent, counted = time.perf_counter() - begun, remote.counted()
    return rows, spent, sum(counted["calls"].values()), counted["bytes"]


def main() -> None:
    parser = parser_of(__doc__, 512 * MIB, 3)
    parser.add_argument("--serve", type=Path)
    parser.add_argument("--first-answers", action="store_true", help="only count the calls until a first answer")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    print_setting()
    sizes = {"mapped_file_size_commit_log": MIB, "mapped_file_size_consume_queue": 60_000, "max_hash_slot_num": 5_000}
    spec = StoreSpec(bytes=199 * MIB // 2, shares={"sessions": 0.01}, huge=False, max_index_num=20_000, **sizes)
    path = store_at(arguments.folder / "remote-100-segments", spec)
    with served(path) as remote:
        print_first_answers(remote, path)
    if arguments.first_answers:
        return
    spec = StoreSpec(bytes=arguments.bytes * 31 // 32, mapped_file_size_commit_log=SEGMENT)
    path = store_at(arguments.folder / f"remote-{arguments.bytes // MIB}MiB", spec)
    print(f"The link: {DELAY * 1e3:.0f} ms for each call, {RATE / 1e6:.0f} MB/s.\n")
    with served(path) as remote:
        print_scans(remote, arguments.rounds)
        print_queries(remote, path)
    segment = arguments.bytes // 4
    spec = StoreSpec(bytes=arguments.bytes, body=1024, shares={"sessions": 0.01, "payments": 0.03}, mapped_file_size_commit_log=segment)
    path = store_at(arguments.folder / f"remote-summarized-{arguments.bytes // MIB}MiB", spec)
    with served(path) as remote:
        print_summarized(remote, path, arguments.folder / f"remote-summary-{arguments.bytes // MIB}MiB", 3 * segment)


if __name__ == "__main__":
    main()
