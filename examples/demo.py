"""Writes a store as a broker leaves it, and reads it with Spark: `make demo`.

Usage: python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import rmqstore
import rmqstore_spark
from native_reader.testing.spec import MIB, StoreSpec
from native_reader.testing.store_writer import write_store

DEMO = StoreSpec(
    bytes=256 * MIB, mapped_file_size_commit_log=64 * MIB, max_hash_slot_num=100_000, max_index_num=400_000, deleted="invoices", huge=True
)
SMALL = StoreSpec(bytes=4 * MIB, mapped_file_size_commit_log=MIB, max_hash_slot_num=1_000, max_index_num=4_000)
WIDTH = 30


def say(line: str = "") -> None:
    print(line, flush=True)


@contextmanager
def step(what: str) -> Iterator[list[str]]:
    """Print a step and its duration; append to the yielded list to add details."""
    begun, more = time.perf_counter(), list[str]()
    yield more
    say(f" ✓ {' '.join([what, *more]):<72} {time.perf_counter() - begun:5.1f} s")


def store_at(path: Path, spec: StoreSpec) -> Path:
    """The demo store, written if it does not exist. An unfinished store is never used."""
    if not path.exists():
        half = path.with_name(path.name + ".part")
        shutil.rmtree(half, ignore_errors=True)
        write_store(half, spec)
        half.rename(path)
    return path


def damaged(path: Path, whole: Path) -> Path:
    """A copy with one page of zeros in its second segment, as a failing disk may return it."""
    if not path.exists():
        shutil.copytree(whole, path)
        with (path / "commitlog" / f"{MIB:020}").open("r+b") as file:
            file.seek(MIB // 2)
            file.write(bytes(4096))
    return path


def started(log: Path) -> SparkSession:
    """A Spark session whose own output, and that of its workers, goes to a file."""
    mine = os.dup(2)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)
    sys.stderr = os.fdopen(mine, "w")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark starts its workers with the first python3 on the PATH
    logging.getLogger("py4j").setLevel(logging.ERROR)
    quiet = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }
    spark = SparkSession.builder.master("local[*]").appName("demo").config(map=quiet).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rmqstore_spark.register(spark)  # not needed after an install from a wheel
    return spark


def what_is_in_it(spark: SparkSession, store: Path) -> None:
    say(f'\n1 ─ What is in it?        spark.read.format("rocketmq-store").load("{store}")')
    frame = spark.read.format("rocketmq-store").load(str(store))
    wanted = frame.select("topic", "queue_id", "queue_offset", "tags", "keys", sf.expr("string(body)").alias("body"), "store_timestamp")
    wanted.limit(5).show(truncate=24)


def what_fills_the_disk(spark: SparkSession, store: Path) -> None:
    say('2 ─ What fills the disk?  .option("columns", "topic,record_size,inner_index,born_host")')
    columns = "topic,record_size,inner_index,born_host"
    heads = spark.read.format("rocketmq-store").option("columns", columns).load(str(store)).where("coalesce(inner_index, 0) = 0")
    begun = time.perf_counter()
    topics = heads.groupBy("topic").agg(sf.count("*"), sf.sum("record_size").alias("bytes")).orderBy(sf.desc("bytes")).collect()
    total = sum(size for _, _, size in topics)
    queues = {path.name for path in (store / "consumequeue").iterdir()}
    for topic, records, size in topics[:13]:
        deleted = "  no queue: deleted" if topic not in queues else ""
        bar = "█" * round(WIDTH * size / total)
        say(f"   {topic:<28} {records:>7,} records {size / MIB:>7,.1f} MiB  {bar:<10} {size / total:>4.0%}{deleted}")
    large = heads.where("record_size > 100 * 1024").groupBy(sf.substring_index("born_host", ":", 1).alias("host"))
    host, records, size = large.agg(sf.count("*"), sf.sum("record_size").alias("bytes")).orderBy(sf.desc("bytes")).first()
    say(f"   the producer {host} sends huge messages: {records:,} of them fill {size / total:.0%} of the log")
    say(f"   two passes over {sum(records for _, records, _ in topics):,} records: {time.perf_counter() - begun:.1f} s")


def what_happened_to_one(spark: SparkSession, store: Path) -> None:
    columns = "msg_id,keys,kind,topic,queue_id,queue_offset,reconsume_times,store_timestamp"
    frame = spark.read.format("rocketmq-store").option("columns", columns).load(str(store))
    dead = frame.where("kind = 'dlq'").orderBy("store_timestamp").first()
    say(f"\n3 ─ What happened to order {dead['keys'][0]}?  all messages with msg_id {dead['msg_id']}")
    moment = sf.date_format("store_timestamp", "HH:mm:ss.SSS").alias("moment")
    for row in frame.where(sf.col("msg_id") == dead["msg_id"]).orderBy("store_timestamp").select("*", moment).collect():
        place = f"queue {row['queue_id']} offset {row['queue_offset']:,}"
        say(f"   {row['moment']}  {row['kind']:<8} {row['topic']:<26} {place:<20} reconsumed {row['reconsume_times']} times")


def a_deleted_topic(spark: SparkSession, store: Path, target: Path) -> None:
    say(f'\n4 ─ A deleted topic            .option("topic", "{DEMO.deleted}") … .write.parquet("{target}")')
    options = {"topic": str(DEMO.deleted), "failOnMissingTopic": "false", "verifyCrc": "true"}
    frame = spark.read.format("rocketmq-store").options(**options).load(str(store))
    frame.write.mode("overwrite").parquet(str(target))
    saved = spark.read.parquet(str(target))
    saved.select("topic", "queue_id", "queue_offset", "tags", "msg_id", sf.length("body").alias("bytes")).orderBy("physical_offset").show(3)
    say(f"   {saved.count():,} messages recovered, all checksums correct")
    run = rmqstore.open(store).messages(topic=DEMO.deleted, columns="topic").run()
    rows = sum(len(batch) for batch in run)
    say(f"   for these {rows:,}, {run.report.bytes_read / MIB:.0f} of {DEMO.bytes // MIB} MiB were read: the bytes in no consume queue")


def a_damaged_store(spark: SparkSession, store: Path) -> None:
    say(f"\n5 ─ A damaged store            {store}: one page of its second segment is zeros")

    def read(**options: str) -> DataFrame:
        return spark.read.format("rocketmq-store").options(**options).load(str(store))

    try:
        read(columns="topic").count()
    except PySparkException as error:
        message = next(line for line in str(error).splitlines() if "StoreDamaged: " in line)
        say(f"   {message.partition('errors.')[2]}")
    say(f'   .option("mode", "DROPMALFORMED")  {read(columns="topic", mode="DROPMALFORMED").count():,} messages')
    for lost in read(table="damage").collect():
        around = f"between the records at {lost.record_before:,} and {lost.record_after:,}"
        say(f'   .option("table", "damage")        {lost.bytes:,} bytes are lost, {around}')
    end = read(table="segments").agg(sf.min("broker_end")).first()[0]
    kept = read(columns="topic", mode="DROPMALFORMED", endingPhysicalOffset=str(end)).count()
    say(f"   a broker up to 5.3.1 started on it would truncate the log at {end:,} and keep {kept:,} messages")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with step(f"{folder / 'store'}: {DEMO.bytes // MIB} MiB, {DEMO.topics} topics, one of them deleted"):
        store = store_at(folder / "store", DEMO)
        broken = damaged(folder / "damaged", store_at(folder / "small", SMALL))
    with step("Spark") as details:
        spark = started(folder / "spark.log")
        java = spark._jvm.System.getProperty("java.version")
        details += [f"{spark.version}, Java {java}, Python {platform.python_version()}, {os.cpu_count()} cores"]
    say(f"   kernel: {rmqstore.kernel_info()}")
    begun = time.perf_counter()
    what_is_in_it(spark, store)
    what_fills_the_disk(spark, store)
    what_happened_to_one(spark, store)
    a_deleted_topic(spark, store, folder / "invoices.parquet")
    a_damaged_store(spark, broken)
    say(f"\n Done in {time.perf_counter() - begun:.0f} s. README.md shows how to read your own store.")
    spark.stop()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
    except PySparkException as error:  # such as a missing Java
        sys.exit(rmqstore_spark.reason(error))
