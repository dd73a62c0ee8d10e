"""Streams messages into a Delta table, by topic and day; each exactly once, over kills and restarts.

Usage: python examples/lake_delta.py STORE FOLDER [--topic NAME] [--until-now]
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

import rmqstore
import rmqstore_spark
from rmqstore_spark.lag import is_up_to_date

COLUMNS = "store,physical_offset,topic,queue_id,queue_offset,kind,tags,msg_id,born_timestamp,store_timestamp,body"
OPTIONS = {"startingOffsets": "earliest", "columns": COLUMNS, "maxBytesPerTrigger": "64m"}
SETTINGS = {
    "spark.log.level": "OFF",  # Spark would print pages about an error; `main` prints its reason
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def stream(given: argparse.Namespace, folder: Path) -> None:
    """Fill the table until the query ends. Delta's sink keeps the number of the batch in the same commit as its rows."""
    from delta import configure_spark_with_delta_pip  # if it is missing, Spark does not start

    print("starting Spark", flush=True)
    builder = SparkSession.builder.appName("lake").config(map=SETTINGS)
    spark = configure_spark_with_delta_pip(builder).getOrCreate()  # Spark fetches jars from Maven Central at the first time
    rmqstore_spark.register(spark)
    frame = spark.readStream.format("rocketmq-store").options(**OPTIONS | ({"topic": given.topic} if given.topic else {})).load(given.store)
    table = folder / "messages"

    def size() -> int:
        return spark.read.format("delta").load(str(table)).count() if table.exists() else 0

    print(f"Delta table {table}: {(before := size()):,} messages", flush=True)
    writer = frame.selectExpr("*", "to_date(store_timestamp) day").writeStream.format("delta").partitionBy("topic", "day")
    writer = writer.trigger(availableNow=True) if given.until_now else writer.trigger(processingTime="10 seconds")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start(str(table))
    shown, ended, is_told = -1, False, given.until_now
    while not ended:
        ended = query.awaitTermination(1) is True
        for each in (each for each in query.recentProgress if each.numInputRows and each.batchId > shown):
            shown, is_told = each.batchId, given.until_now
            print(f"batch {shown}: {each.numInputRows:,} messages", flush=True)
        if not (ended or is_told) and is_up_to_date(query):
            is_told = True
            print("up to date; waiting for new messages (Ctrl-C stops)", flush=True)
    print(f"{(after := size()):,} messages in {table}, {after - before:,} of them new")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    for name in ("store", "folder", "--topic"):
        parser.add_argument(name)
    parser.add_argument("--until-now", action="store_true", help="stop at the current end of the log")
    given = parser.parse_args()
    try:
        doubts = rmqstore.open(given.store).messages(topic=given.topic).doubts()  # such as a topic that the store does not have
        if doubts or Path(given.folder).is_file():
            parser.exit(2, f"{doubts[0] if doubts else f'{given.folder} is a file. Name a folder'}\n")
        ThreadPoolExecutor(1).submit(stream, given, Path(given.folder).absolute()).result()
    except KeyboardInterrupt:  # here, so that it does not end a call to Spark, which prints tracebacks
        print("stopped; the same command continues", flush=True)
        os._exit(0)  # Java ends with this process. The table bears it at any time
    except Exception as error:
        advice = ". Run: pip install pyspark==4.2.0 delta-spark==4.4.0" if isinstance(error, ImportError) else ""
        parser.exit(2, f"{rmqstore_spark.reason(error)}{advice}\n")


if __name__ == "__main__":
    main()
