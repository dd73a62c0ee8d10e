"""Measures small questions: keys, text, counts, first rows, the table of queues, the start of Python and of a command.

Processor time of the process, compiled kernel where it is installed. The store has records of 1 KiB, a hundred queues and its index.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import MIB, Work, duration, interleaved, parser_of, print_setting, store_at, use_cores

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.spec import StoreSpec

_BETWEEN = """
import os, sys
child = os.fork()
if not child:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1), os.dup2(null, 2)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
_, _, used = os.wait4(child, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
TOPICS = 1000
"""Of the store that the table of queues is measured with; each has eight queues."""


def took(store: nr.Store, **options: Any) -> nr.Run:
    run = store.messages(**options).run()
    for _ in run:
        pass
    return run


def print_row(what: str, times: list[float], more: str = "", wanted: str = "") -> None:
    print(f"| {what} | {duration(min(times))} ({duration(statistics.median(times))}) | {more} | {wanted} |", flush=True)


def cpu(rounds: int, works: dict[str, Work]) -> dict[str, list[float]]:
    columns = zip(*interleaved(rounds, *works.values(), clock=time.process_time), strict=True)
    return {name: list(column) for name, column in zip(works, columns, strict=True)}


def bare(root: Path) -> Callable[[], None]:
    """Only reading: the bytes of the log into one buffer."""
    view = memoryview(bytearray(4 * MIB))

    def run() -> None:
        for segment in sorted((root / "commitlog").iterdir()):
            with segment.open("rb", buffering=0) as file:
                while file.readinto(view):
                    pass

    return run


def key_conditions(store: nr.Store) -> tuple[list[str], str]:
    """A thousand keys from all over the log, and the topic of one of them."""
    table = store.messages(columns="topic,keys,uniq_key").to_table()
    step = max(1, len(table) // 1000)
    rows = [row for row in table.slice(0, None).to_pylist()[::step] if row["keys"]]
    return [row["keys"][0] for row in rows][:1000], rows[len(rows) // 2]["topic"]


def by_key(root: Path, rounds: int) -> None:
    store = nr.open(root)
    keys, _ = key_conditions(store)
    middle = keys[len(keys) // 2]
    topic = store.messages(columns="topic", keys=middle, access="scan").to_table()["topic"][0].as_py()
    works: dict[str, Work] = {"reading the bytes": bare(root), "six columns, all records": lambda: took(store, columns="heads")}
    for count in (1, 10, 100, 1000):
        some = [middle] if count == 1 else keys[:: max(1, len(keys) // count)][:count]
        for access in ("scan", "auto"):
            works[f"{count} keys, no topic, `{access}`"] = lambda some=some, access=access: took(store, keys=some, access=access)
        works[f"{count} keys, a topic, `trust`"] = lambda some=some: took(store, keys=some, topic=topic, access="trust")
    for access in ("auto", "trust"):
        works[f"1 key, its topic, `{access}`"] = lambda access=access: took(store, keys=middle, topic=topic, access=access)
    works["a word in bodies, `body_text LIKE`"] = lambda: took(store, where="body_text LIKE '%no such word%'")
    for name, times in cpu(rounds, works).items():
        print_row(name, times)


def by_count(root: Path, rounds: int) -> None:
    store = nr.open(root)
    works: dict[str, Work] = {
        "`count_rows()`, `auto`": lambda: store.messages().count_rows(),
        "`count_rows()`, `trust`": lambda: store.messages(access="trust").count_rows(),
        "`count_rows()` of `heads`": lambda: store.messages(columns="heads").count_rows(),
        "`messages().plan()`": lambda: store.messages().plan(),
        "`head(1)`": lambda: nr.open(root).messages().head(1),
        "`head(10)` again": lambda: store.messages().head(10),
    }
    for name, times in cpu(rounds, works).items():
        print_row(name, times)


def without_queues(root: Path) -> None:
    """Bytes read from a log without queues before and after the first rows."""
    log = root.with_name(root.name + "-log")
    if not log.exists():
        (log / "commitlog").mkdir(parents=True)
        for segment in (root / "commitlog").iterdir():
            (log / "commitlog" / segment.name).hardlink_to(segment)
    faulty = FaultyStorage(log.parent.as_uri())
    store = nr.open(f"{faulty.url}/{log.name}")
    for name, work in {
        "`plan()`": lambda: store.messages().plan(),
        "`head(10)`": lambda: store.messages().head(10),
        "`to_reader()`, first batch": lambda: store.messages().to_reader().read_next_batch(),
        "`to_table()`": lambda: store.messages().to_table(),
        "`to_table()` again": lambda: store.messages().to_table(),
    }.items():
        before = faulty.bytes_read
        begun = time.process_time()
        work()
        print_row(f"a log without queues: {name}", [time.process_time() - begun], f"{(faulty.bytes_read - before) / MIB:.2f} MiB read")


def of_queues(folder: Path, rounds: int) -> None:
    root = folder / "small-queues"
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        store_at(root, StoreSpec(bytes=8 * MIB, index=False, mapped_file_size_commit_log=8 * MIB))
        for topic in range(TOPICS):
            for queue in range(8):
                place = root / "consumequeue" / f"more-{topic}" / str(queue)
                place.mkdir(parents=True)
                (place / f"{0:020}").write_bytes(bytes(20 * 300))
        (root / "done").touch()
    count = nr.open(root).table("queues").to_table().num_rows
    for name, times in cpu(rounds, {"the table `queues`": lambda: nr.open(root).table("queues").to_table()}).items():
        print_row(name, times, f"{min(times) / count * 1e6:.0f} µs a queue, {count:,} queues", "≤ 30 µs")


def starts(root: Path, rounds: int) -> None:
    works = {
        "`import pyarrow`": ["-c", "import pyarrow"],
        "`import native_reader`, `head(1)`": ["-c", f"import native_reader as n; n.open({str(root)!r}).messages().head(1)"],
        "`rmqstore ls`": ["-m", "rmqstore", "ls", str(root)],
        "`rmqstore find --key`": ["-m", "rmqstore", "find", str(root), "--key", "no-such"],
        "`rmqstore doctor`": ["-m", "rmqstore", "doctor", str(root)],
    }
    times: dict[str, list[tuple[float, int]]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, arguments in works.items():
            times[name].append(_child(arguments))
    least = min(seconds for seconds, _ in times["`import pyarrow`"])
    for name, of in times.items():
        seconds = [each for each, _ in of[1:]]
        print_row(name, seconds, f"{min(seconds) / least:.2f} × `import pyarrow`, {max(peak for _, peak in of) >> 10:,} MB")


def _child(arguments: list[str]) -> tuple[float, int]:
    """Processor seconds and peak memory (KiB) of a process; one between them, since a process begins with the peak of its parent."""
    said = subprocess.run([sys.executable, "-S", "-c", _BETWEEN, *arguments], check=True, capture_output=True, text=True).stdout
    taken, peak = said.split()
    return float(taken), int(peak)


def main() -> None:
    arguments = parser_of(__doc__, 256 * MIB, 9).parse_args()
    use_cores(1)
    folder = arguments.folder
    size = arguments.bytes
    root = Path(store_at(folder / f"small-{size // MIB}MiB", StoreSpec(bytes=size, mapped_file_size_commit_log=size)))
    print_setting()
    print("| best (median), processor time | | | wanted |\n|---|---|---|---|")
    by_key(root, arguments.rounds)
    by_count(root, arguments.rounds)
    without_queues(root)
    of_queues(folder, arguments.rounds)
    starts(root, arguments.rounds)


if __name__ == "__main__":
    main()
