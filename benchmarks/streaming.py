"""Measures the stream: `make bench`, or `python benchmarks/streaming.py --bytes 1GiB` for a quick check.

Rates and planning are ratios of two functions in the same run, with interleaved rounds. The cost of an idle stream is CPU time ÷ wall
time, of the reader's calls and of the Python process that Spark 4.3 keeps for a query.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from measure import MIB, interleaved, parser_of, print_setting, store_at
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from spark import noop, session

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.locks import held

import native_reader as nr
from native_reader.testing.spec import GIB, StoreSpec
from rmqstore_spark.source import RocketmqStore

SEGMENT = 64 << 10
FEW, MANY = 100, 10_000
TRIGGER = 4 * SEGMENT
TRIGGERS = 20
POLLS = 90
"""How often per second Spark 4.3 polls a query without a trigger."""
PAUSE = 0.11
"""Seconds between triggers, so that the reader looks at the log again each time."""


class Drained(NamedTuple):
    """One query that read everything."""

    whole: float
    rate: float
    """Bytes per second, from the end of the first batch to the end of the last."""
    trigger: float
    """Seconds that the tasks of a batch took: the median."""
    planning: float
    """Seconds of `latestOffset` as measured by Spark: the median."""
    least: float
    """Seconds of the shortest trigger, including all that Spark does around its tasks."""
    cpu: float
    """CPU seconds of all processes."""


class Planned(NamedTuple):
    """Seconds that a reader took before its first trigger, and for each trigger."""

    initial: float
    latest: list[float]
    partitions: list[float]

    @property
    def triggers(self) -> list[float]:
        return [one + other for one, other in zip(self.latest, self.partitions, strict=True)]


class Nothing(DataSource):
    """A source that does nothing: the cost of Spark's own calls."""

    @classmethod
    def name(cls) -> str:
        return "nothing"

    def schema(self) -> str:
        return "value string"

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return NothingReader()


class NothingReader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, Any]:
        return {"next": 0}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return start

    def reportLatestOffset(self) -> dict[str, Any]:
        return {"next": 0}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return []

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return iter(())


def without_queues(store: str) -> str:
    """A store with the same log and no other files."""
    path = Path(f"{store}-log-only")
    path.mkdir(exist_ok=True)
    if not (path / "commitlog").exists():
        (path / "commitlog").symlink_to(Path(store) / "commitlog")
    return str(path)


def reader_of(path: str, **options: object) -> DataSourceStreamReader:
    source = RocketmqStore({"path": path, "startingOffsets": "earliest"} | {name: str(value) for name, value in options.items()})
    return source.streamReader(source.schema())


def as_restored(offset: dict[str, Any]) -> dict[str, Any]:
    """The offset as Spark returns it."""
    return json.loads(json.dumps(offset))  # type: ignore[no-any-return]


def print_row(what: str, measured: str, against: str, figure: str, wanted: str) -> None:
    print(f"| {what} | {measured} | {against} | {figure} | {wanted} |", flush=True)


@contextmanager
def following(spark: SparkSession, name: str, options: dict[str, str], **trigger: Any) -> Iterator[StreamingQuery]:
    """A query that discards its rows."""
    with tempfile.TemporaryDirectory() as checkpoint:
        stream = spark.readStream.format(name).options(**options).load()
        writer = stream.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = (writer.trigger(**trigger) if trigger else writer).start()
        try:
            yield query
        finally:
            query.stop()


def drained(spark: SparkSession, store: str, limit: dict[str, str]) -> Drained:
    begun, spent = time.perf_counter(), cpu_of_all()
    with following(spark, "rocketmq-store", {"path": store, "startingOffsets": "earliest"} | limit, availableNow=True) as query:
        query.awaitTermination()
        whole = time.perf_counter() - begun
        batches = [each for each in query.recentProgress if each.numInputRows]
    moments = [datetime.fromisoformat(each.timestamp).timestamp() + each.durationMs["triggerExecution"] / 1e3 for each in batches]
    reached = [next(iter(json.loads(each.sources[0].endOffset)["stores"].values()))["next"] for each in batches]
    trigger, planning = (statistics.median(each.durationMs[of] for each in batches) / 1e3 for of in ("addBatch", "latestOffset"))
    least = min(each.durationMs["triggerExecution"] for each in batches) / 1e3
    rate = (reached[-1] - reached[0]) / max(1e-3, moments[-1] - moments[0])
    return Drained(whole, rate, trigger, planning, least, cpu_of_all() - spent)


def sustained(spark: SparkSession, store: str, few: str, rounds: int) -> float:
    """Batches of a backlog ÷ one read of the same; returns the seconds that the tasks of a 1 GiB trigger take."""
    size = sum(segment.size for segment in nr.open(store).stores[0].segments)
    read = noop(lambda: spark.read.format("rocketmq-store").load(store))
    cases: dict[str, dict[str, str]] = {
        "256m": {"maxBytesPerTrigger": "256m"},
        "256m, minPartitions as slots": {"maxBytesPerTrigger": "256m", "minPartitions": str(spark.sparkContext.defaultParallelism)},
        "1g": {"maxBytesPerTrigger": "1g"},
    }
    runs: dict[str, list[Drained]] = {what: [] for what in cases}
    spent: list[float] = []

    def alone() -> None:
        before = cpu_of_all()
        read()
        spent.append(cpu_of_all() - before)

    works = [lambda what=what: runs[what].append(drained(spark, store, cases[what])) for what in cases]
    times = interleaved(rounds, alone, *works)
    batch, cpu = min(each[0] for each in times), min(spent[1:])
    for what, (_, *measured) in runs.items():
        whole, rate, work = min(each.whole for each in measured), max(each.rate for each in measured), min(each.cpu for each in measured)
        pairs = list(zip(times, measured, strict=True))
        medians = [statistics.median(of) for of in ([t[0] / r.whole for t, r in pairs], [r.rate * t[0] / size for t, r in pairs])]
        print_row(f"{what} a trigger, whole query", f"{whole:.2f} s", f"{batch:.2f} s", f"{batch / whole:.2f} ({medians[0]:.2f})", "")
        rates = f"{rate / MIB:,.0f} MiB/s", f"{size / batch / MIB:,.0f} MiB/s"
        print_row(f"{what} a trigger, after the first", *rates, f"{rate * batch / size:.2f} ({medians[1]:.2f})", "≥ 0.8")
        print_row(f"{what} a trigger, CPU of all processes", f"{work:.1f} s", f"{cpu:.1f} s", f"{cpu / work:.2f}", "")
    trigger, known = min(each.trigger for each in runs["1g"][1:]), min(each.planning for each in runs["1g"][1:])
    print_row("`latestOffset` of 1g a trigger, as Spark saw it", f"{known * 1e3:,.0f} ms", f"{trigger * 1e3:,.0f} ms", "", "")
    least = drained(spark, few, {"maxBytesPerTrigger": str(TRIGGER)}).least
    print_row("a trigger with almost no data", f"{least * 1e3:,.0f} ms", "", "", "")
    return trigger


def planned(path: str, most: int = sys.maxsize, pause: float = 0.0, **options: object) -> Planned:
    """Drive a new reader as Spark does, for that many triggers."""
    reader = reader_of(path, **options)
    limit = reader.getDefaultReadLimit()
    begun = time.perf_counter()
    start = as_restored(reader.initialOffset())
    planned = Planned(time.perf_counter() - begun, [], [])
    while len(planned.latest) < most:
        time.sleep(pause)
        begun = time.perf_counter()
        end = as_restored(reader.latestOffset(start, limit))
        if end == start:
            break
        known = time.perf_counter()
        reader.partitions(start, end)
        planned.latest.append(known - begun)
        planned.partitions.append(time.perf_counter() - known)
        start = end
    return planned


def planning(store: str, rounds: int, trigger: float) -> None:
    """Driver time before a trigger of 1 GiB ÷ the time of its tasks."""
    size = sum(segment.size for segment in nr.open(store).stores[0].segments)
    rows = nr.open(store).messages().count_rows() * GIB // size
    cases: list[tuple[str, str, dict[str, object]]] = [
        ("1g a trigger", store, {"maxBytesPerTrigger": "1g"}),
        ("1000m a trigger, which ends inside segments", store, {"maxBytesPerTrigger": "1000m"}),
        ("1g a trigger, without queues", without_queues(store), {"maxBytesPerTrigger": "1g"}),
        ("1000m a trigger, without queues", without_queues(store), {"maxBytesPerTrigger": "1000m"}),
        (f"{rows:,} records a trigger, about 1 GiB", store, {"maxOffsetsPerTrigger": rows}),
    ]
    runs: list[list[Planned]] = [[] for _ in cases]
    interleaved(
        rounds, *(lambda which=which: runs[which].append(planned(cases[which][1], **cases[which][2])) for which in range(len(cases)))
    )
    for (what, _, _), measured in zip(cases, runs, strict=True):
        each = min(statistics.mean(run.triggers[:-1] or run.triggers) for run in measured[1:])
        print_row(f"planning, {what}", f"{each * 1e3:,.1f} ms", f"{trigger * 1e3:,.0f} ms", f"{each / trigger:.3f}", "≤ 0.1")


def polled(path: str, duration: float) -> float:
    """CPU seconds per second of Spark's calls when nothing is new."""
    reader = reader_of(path)
    start, limit = as_restored(reader.initialOffset()), ReadAllAvailable()
    while (end := as_restored(reader.latestOffset(start, limit))) != start:
        start = end
    spent, begun = 0.0, time.perf_counter()
    for number in range(int(duration * POLLS)):
        time.sleep(max(0.0, begun + number / POLLS - time.perf_counter()))
        offset, before = as_restored(start), time.process_time()
        reader.latestOffset(offset, limit)
        reader.reportLatestOffset()
        spent += time.process_time() - before
    return spent / (time.perf_counter() - begun)


def polled_by_spark(spark: SparkSession, name: str, options: dict[str, str], duration: float) -> tuple[float, float]:
    """CPU seconds per second of a query's Python process and of Spark's JVM, when nothing is new."""
    before = set(planners())
    with following(spark, name, options):
        time.sleep(6.0)
        (process,) = set(planners()) - before
        jvm = next(pid for pid, (parent, _) in processes().items() if parent == os.getpid() and b"java" in command(pid))
        begun, spent = time.perf_counter(), (cpu_seconds(process), cpu_seconds(jvm))
        time.sleep(duration)
        python, java = cpu_seconds(process) - spent[0], cpu_seconds(jvm) - spent[1]
        lasted = time.perf_counter() - begun
    return python / lasted, java / lasted


def processes() -> dict[int, tuple[int, float]]:
    """For each process: its parent, and its CPU seconds including finished children."""
    running: dict[int, tuple[int, float]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        running[int(file.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return running


def descendants() -> set[int]:
    """This process and all its descendants."""
    running, ours = processes(), {os.getpid()}
    while more := {pid for pid, (parent, _) in running.items() if parent in ours} - ours:
        ours |= more
    return ours


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def cpu_seconds(pid: int) -> float:
    return processes()[pid][1]


def cpu_of_all() -> float:
    running = processes()
    return sum(running[pid][1] for pid in descendants() if pid in running)


def planners() -> list[int]:
    """The descendants of this process in which Spark keeps stream readers."""
    return [pid for pid in descendants() if b"python_streaming_source_runner" in command(pid)]


def idle(spark: SparkSession, stores: dict[str, str], duration: float) -> None:
    """An idle store, at rest and with its lock held as a broker holds it."""
    python, java = polled_by_spark(spark, "nothing", {}, duration)
    print_row("idle: a source that does nothing", f"Python {python:.2%}", f"JVM {java:.2%}", "", "")
    for what, path in stores.items():
        for state in ("at rest", "held"):
            with held(Path(path, "lock")) if state == "held" else nullcontext():
                calls = polled(path, duration)
                python, java = polled_by_spark(spark, "rocketmq-store", {"path": path}, duration)
            print_row(f"idle: {what}, {state}", f"Python {python:.2%}", f"JVM {java:.2%}", f"calls {calls:.2%} of a core", "≤ 1 %")


def from_the_beginning(few: str, many: str, rounds: int) -> None:
    """The first triggers of a new query, which must not take longer with a larger backlog."""
    runs: list[list[Planned]] = [[], []]
    options = {"maxBytesPerTrigger": TRIGGER}
    interleaved(rounds, *(lambda w=which: runs[w].append(planned((few, many)[w], TRIGGERS + 1, PAUSE, **options)) for which in (0, 1)))
    of = {
        "initialOffset": lambda run: run.initial,
        "the first latestOffset": lambda run: run.latest[0],
        f"each of the next {TRIGGERS} triggers, median": lambda run: statistics.median(run.triggers[1:]),
        f"the slowest of the next {TRIGGERS} triggers": lambda run: max(run.triggers[1:]),
        f"the next {TRIGGERS} triggers, sum": lambda run: sum(run.triggers[1:]),
    }
    for what, taken in of.items():
        one, other = (min(taken(run) for run in measured[1:]) for measured in runs)
        print_row(f"{what}: {MANY:,} segments ÷ {FEW}", f"{other * 1e3:,.1f} ms", f"{one * 1e3:,.1f} ms", f"{other / one:.2f}", "")


def main() -> None:
    cores = os.cpu_count() or 1
    parser = parser_of(__doc__, 4 * GIB, 4)
    parser.add_argument("--slots", type=int, default=cores)
    parser.add_argument("--idle", type=float, default=20.0, help="duration of the idle part, in seconds")
    parser.add_argument("--parts", default="rates,planning,beginning,idle", help="what to measure")
    arguments = parser.parse_args()
    folder, parts = arguments.folder, arguments.parts.split(",")
    folder.mkdir(parents=True, exist_ok=True)
    backlog = store_at(folder / f"streaming-{arguments.bytes // MIB}MiB", StoreSpec(bytes=arguments.bytes, index=False))
    few, many = (
        store_at(folder / f"segments-{count}", StoreSpec(bytes=count * SEGMENT, mapped_file_size_commit_log=SEGMENT, index=False))
        for count in (FEW, MANY)
    )
    spark = session(arguments.slots, folder)
    spark.dataSource.register(Nothing)
    print_setting()
    print(f"`local[{arguments.slots}]`, Spark {spark.version}, {arguments.bytes // MIB:,} MiB\n")
    print("| what | measured | against | ratio, best ÷ best (median) | wanted |\n|---|---|---|---|---|")
    trigger = sustained(spark, backlog, few, arguments.rounds) if "rates" in parts else 1.0
    if "planning" in parts:
        planning(backlog, arguments.rounds, trigger)
    if "beginning" in parts:
        from_the_beginning(few, many, arguments.rounds)
    if "idle" in parts:
        idle(spark, {f"{len(nr.open(backlog).stores[0].segments)} segments": backlog, f"{MANY:,} segments": many}, arguments.idle)
    spark.stop()


if __name__ == "__main__":
    main()
