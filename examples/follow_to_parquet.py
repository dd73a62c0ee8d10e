"""Writes new messages to Parquet with a stream, each exactly once, and prints how far it is behind.

Usage: python examples/follow_to_parquet.py STORE FOLDER [--topic NAME] [--all] [--until-now]
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import rmqstore_spark
from rmqstore_spark.lag import LagListener


def followed(spark: SparkSession, store: str, folder: str, *, topic: str | None, everything: bool, until_now: bool) -> StreamingQuery:
    """Start the query. Each message is written to FOLDER/messages exactly once, even if the query is restarted."""
    options = {"startingOffsets": "earliest" if everything else "latest", "maxBytesPerTrigger": "1g"}
    if topic is not None:
        options["topic"] = topic
    stream = spark.readStream.format("rocketmq-store").options(**options).load(store)
    writer = stream.writeStream.format("parquet").option("path", f"{folder}/messages").option("checkpointLocation", f"{folder}/checkpoint")
    return writer.trigger(availableNow=True).start() if until_now else writer.trigger(processingTime="1 minute").start()


def follow(arguments: argparse.Namespace) -> None:
    spark = SparkSession.builder.appName("follow").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")  # Spark would print pages about an error; `main` prints its reason
    rmqstore_spark.register(spark)
    spark.streams.addListener(LagListener())
    query = followed(
        spark, arguments.store, arguments.folder, topic=arguments.topic, everything=arguments.all, until_now=arguments.until_now
    )
    query.awaitTermination()
    print(f"{spark.read.parquet(f'{arguments.folder}/messages').count():,} messages in {arguments.folder}/messages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    parser.add_argument("store")
    parser.add_argument("folder")
    parser.add_argument("--topic")
    parser.add_argument("--all", action="store_true", help="start at the beginning of the log")
    parser.add_argument("--until-now", action="store_true", help="stop at the current end of the log")
    arguments = parser.parse_args()
    if Path(arguments.folder).is_file():
        parser.exit(2, f"{arguments.folder} is a file. Name a folder\n")
    try:
        ThreadPoolExecutor(1).submit(follow, arguments).result()
    except KeyboardInterrupt:  # here, so that it does not end a call to Spark, which prints tracebacks
        print("stopped; the same command continues", flush=True)
        os._exit(0)  # Java ends with this process. The files bear it at any time
    except PySparkException as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")


if __name__ == "__main__":
    main()
