"""Measures the Spark source with both kernels: `make bench`, or `python benchmarks/spark.py --bytes 128MiB` for a quick check.

Every figure is a ratio of two queries, which both include the cost of Spark itself.
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from measure import KERNELS, MIB, VARIABLE, by_kernel, parser_of, print_head, print_ratio
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType
from run import made

import native_reader as nr
import rmqstore_spark
from native_reader.columns.schema import DEFAULT_COLUMNS, schema_of
from native_reader.testing.records import Message, blank, encode
from rmqstore_spark.columns import spark_schema
from rmqstore_spark.source import RocketmqStore

BIG, SMALL = 10 << 30, 100 << 20
NAMES = ("1 KiB mixed", "100 B mixed")


class Prebuilt(DataSource):
    """The batches of a scan, built in advance: what remains is the cost of Spark and its pipe."""

    @classmethod
    def name(cls) -> str:
        return "prebuilt"

    def schema(self) -> StructType:
        return spark_schema(nr.open(self.options["store"]).messages().schema.names)

    def reader(self, schema: StructType) -> DataSourceReader:
        return PrebuiltReader(self.options["path"])


class PrebuiltReader(DataSourceReader):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(str(file)) for file in sorted(Path(self._folder).glob("*.arrow"))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(partition.value) as file:
            batches = pa.ipc.open_file(file)
            for number in range(batches.num_record_batches):
                yield batches.get_batch(number)


def prebuild(store: str, folder: Path) -> None:
    """Write the batches of each task to a file."""
    scan = nr.open(store).messages()
    for number, splits in enumerate(scan.plan().packed()):
        with pa.OSFile(str(folder / f"{number:04}.arrow"), "wb") as out, pa.ipc.new_file(out, scan.schema) as writer:
            for split in splits:
                part = nr.open(store).messages(
                    starting_physical_offset=split.segment.base + split.start,
                    ending_physical_offset=split.segment.base + min(split.stop, split.end),
                )
                for batch in part.to_batches():
                    writer.write_batch(batch)


def by_hand(spark: SparkSession, store: str, schema: StructType) -> DataFrame:
    """The usual hand-written solution: `mapInArrow` over the same ranges, and `struct` in a loop."""
    splits = nr.open(store).messages().plan().splits
    ranges = [(split.segment.uri.removeprefix("file://"), split.start, split.start + split.written, store) for split in splits]
    tasks = spark.createDataFrame(ranges, "file string, start long, stop long, store string").repartition(len(ranges))
    return tasks.mapInArrow(_looped, schema)


def _looped(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    head = struct.Struct(">iiiiiqqiq4siq4siiqi")
    for batch in tasks:
        for task in batch.to_pylist():
            with open(task["file"], "rb") as file:
                file.seek(task["start"])
                content = file.read(task["stop"] - task["start"] + (8 << 20))
            yield from _records(content, task, head)


def _records(content: bytes, task: dict[str, object], head: struct.Struct) -> Iterator[pa.RecordBatch]:
    base = int(Path(str(task["file"])).name)
    start, stop = int(task["start"]), int(task["stop"])  # type: ignore[call-overload]
    at, rows = content.find(b"\xda\xa3\x20\xa7") - 4, []
    while at + start < stop and at + 88 <= len(content):
        size, magic, _, queue, _, queue_offset, offset, flags, born, _, _, stored, _, _, _, _, body_size = head.unpack_from(content, at)
        if magic != -626843481 or offset != base + start + at or flags & 0x30:
            at += max(size, 4)
            continue
        body_at = at + 88
        topic_size = content[body_at + body_size]
        topic_at = body_at + body_size + 1
        text = content[topic_at + topic_size + 2 : at + size].decode("utf-8", "replace")
        properties = dict(pair.split("\x01", 1) for pair in text.split("\x02") if "\x01" in pair)
        keys = properties.get("KEYS")
        rows.append((
            content[topic_at : topic_at + topic_size].decode(), queue, queue_offset, properties.get("TAGS"), keys and keys.split(),
            properties.get("UNIQ_KEY"), content[body_at : body_at + body_size], list(properties.items()),
            datetime.fromtimestamp(born / 1000, UTC), datetime.fromtimestamp(stored / 1000, UTC), "normal", offset, task["store"],
        ))  # fmt: skip
        at += size
        if len(rows) == 2000:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    schema = schema_of(DEFAULT_COLUMNS)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)], schema=schema
    )


def noop(frame: Callable[[], DataFrame]) -> Callable[[], object]:
    return lambda: frame().write.format("noop").mode("overwrite").save()


def register_kernels(spark: SparkSession) -> None:
    """A format for each kernel: Spark's workers get the variable that was set when their format was registered."""
    for kernel in KERNELS:
        spark.sparkContext.environment[VARIABLE] = kernel
        spark.dataSource.register(type("Store", (RocketmqStore,), {"name": classmethod(lambda cls, kernel=kernel: f"store-{kernel}")}))


def read(spark: SparkSession, store: str | Path, **options: str) -> DataFrame:
    """With the kernel that runs in this process."""
    return spark.read.format(f"store-{nr.kernel_info().name}").options(**options).load(str(store))


def full_scans(spark: SparkSession, store: str, name: str, arguments: argparse.Namespace) -> None:
    parquet = Path(f"{store}.spark.parquet")
    if not parquet.exists():
        read(spark, store).write.option("compression", "none").parquet(str(parquet))
    with TemporaryDirectory(dir=arguments.memory) as ready:
        prebuild(store, Path(ready))
        times = by_kernel(
            arguments.rounds,
            {"ours": noop(lambda: read(spark, store)), "heads": noop(lambda: read(spark, store, columns="heads"))},
            {
                "prebuilt": noop(lambda: spark.read.format("prebuilt").option("store", store).load(ready)),
                "Parquet": noop(lambda: spark.read.parquet(str(parquet))),
            },
        )
    print_ratio(f"{name}: prebuilt batches ÷ ours", times, "prebuilt", "ours", "≥ 0.96" if arguments.slots == 1 else "≥ 0.9")
    print_ratio(f"{name}: Spark's Parquet ÷ ours", times, "Parquet", "ours", "≥ 1.0")
    print_ratio(f"{name}: default columns ÷ heads", times, "ours", "heads", "≥ 2")


def against_a_loop(spark: SparkSession, store: str, name: str) -> None:
    schema = read(spark, store).schema
    times = by_kernel(1, {"ours": noop(lambda: read(spark, store))}, {"loop": noop(lambda: by_hand(spark, store, schema))})
    print_ratio(f"{name}: a struct loop in mapInArrow ÷ ours", times, "loop", "ours", "≥ 4")


def fixed_costs(spark: SparkSession, folder: Path, rounds: int) -> None:
    big, small, empty = (folder / name for name in ("spark-10GiB", "spark-100MiB", "empty"))
    (empty / "commitlog").mkdir(parents=True, exist_ok=True)
    for path, size in ((big, BIG), (small, SMALL)):
        if not path.exists():
            sparse(path, size)
    # Measured separately: a limit kills Spark's Python worker, and the next query pays for a new one.
    times = by_kernel(max(5, rounds), {path.name: lambda path=path: read(spark, path).limit(5).collect() for path in (big, small)})
    print_ratio("limit(5) of 10 GiB ÷ of 100 MiB", times, big.name, small.name, "≤ 1.5")
    times = by_kernel(max(9, rounds), {"empty": lambda: read(spark, empty).count()}, {"range": lambda: spark.range(1).count()})
    print_ratio("count of an empty store ÷ spark.range(1).count()", times, "empty", "range", "≤ 5")


def sparse(path: Path, size: int) -> None:
    """A store of that size. Each segment has 20 MiB of records; the rest is a blank, stored as a hole in the file."""
    segment = min(size, 1 << 30)
    (path / "commitlog").mkdir(parents=True)
    for base in range(0, size, segment):
        with (path / "commitlog" / f"{base:020}").open("wb") as file:
            file.truncate(segment)
            while file.tell() < 20 * MIB:
                file.write(encode(Message(topic="sparse", body=bytes(1024)), base + file.tell()))
            file.write(blank(segment - file.tell()))


def session(slots: int, folder: Path) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
    }
    spark = SparkSession.builder.master(f"local[{slots}]").config(map=settings | {"spark.driver.host": "127.0.0.1"}).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rmqstore_spark.register(spark)
    spark.dataSource.register(Prebuilt)
    return spark


def main() -> None:
    parser = parser_of(__doc__, 1 << 30, 5)
    parser.add_argument("--memory", default="/dev/shm", help="a file system in memory")
    parser.add_argument("--slots", type=int, default=1)
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    spark = session(arguments.slots, folder)
    register_kernels(spark)
    print(f"`local[{arguments.slots}]`, Spark {spark.version}, {arguments.bytes // MIB:,} MiB")
    print_head()
    for name in NAMES:
        full_scans(spark, made(folder, name, arguments.bytes), name, arguments)
    if arguments.slots == 1:
        against_a_loop(spark, made(folder, "1 KiB mixed", arguments.bytes), "1 KiB mixed")
        fixed_costs(spark, folder, arguments.rounds)
    spark.stop()


if __name__ == "__main__":
    main()
