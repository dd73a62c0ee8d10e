"""Streams messages into a Delta table, by topic and day; each exactly once, over kills and restarts.

Usage: python examples/lake_delta.py STORE FOLDER [--topic NAME] [--until-now]
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import rmqstore_spark

COLUMNS = "store,physical_offset,topic,queue_id,queue_offset,kind,tags,msg_id,born_timestamp,store_timestamp,body"
OPTIONS = {"startingOffsets": "earliest", "columns": COLUMNS, "maxBytesPerTrigger": "64m"}
SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
interrupts: list[int] = []


def stream(given: argparse.Namespace, folder: Path) -> None:
    """Fill the table until the query ends. Delta's sink keeps the number of the batch in the same commit as its rows."""
    from delta import configure_spark_with_delta_pip  # if it is missing, Spark does not start

    builder = SparkSession.builder.appName("lake").config(map=SETTINGS)
    spark = configure_spark_with_delta_pip(builder).getOrCreate()  # Spark fetches jars from Maven Central at the first time
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))  # an exception inside a call to Spark prints tracebacks
    spark.sparkContext.setLogLevel("OFF")  # Spark would print pages about an error; `main` prints its reason
    rmqstore_spark.register(spark)
    reader = spark.readStream.format("rocketmq-store").options(**OPTIONS)
    frame = (reader.option("topic", given.topic) if given.topic else reader).load(given.store)
    table = folder / "messages"

    def size() -> int:
        return spark.read.format("delta").load(str(table)).count() if table.exists() else 0

    print(f"Delta table {table}: {(before := size()):,} messages", flush=True)
    writer = frame.selectExpr("*", "to_date(store_timestamp) day").writeStream.format("delta").partitionBy("topic", "day")
    writer = writer.trigger(availableNow=True) if given.until_now else writer.trigger(processingTime="10 seconds")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start(str(table))
    shown, ended = -1, False
    while not ended:
        ended = query.awaitTermination(1) is True
        for each in (each for each in query.recentProgress if each.numInputRows and each.batchId > shown):
            shown = each.batchId
            print(f"batch {shown}: {each.numInputRows:,} messages", flush=True)
        if interrupts:
            raise KeyboardInterrupt
    print(f"{(after := size()):,} messages in {table}, {after - before:,} of them new")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("folder", type=Path, help="it gets the table and the checkpoint")
    parser.add_argument("--topic")
    parser.add_argument("--until-now", action="store_true", help="stop at the current end of the log")
    given = parser.parse_args()
    try:
        stream(given, given.folder.absolute())
    except KeyboardInterrupt:
        print("stopped; the same command continues")
    except ImportError as error:
        parser.exit(2, f"{error}. Run: pip install pyspark==4.2.0 delta-spark==4.4.0\n")
    except PySparkException as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")


if __name__ == "__main__":
    main()
