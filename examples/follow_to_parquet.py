"""Writes new messages to Parquet and prints the lag: python examples/follow_to_parquet.py STORE FOLDER [--topic NAME] [--all] …"""

from __future__ import annotations

import argparse

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("folder")
    parser.add_argument("--topic")
    parser.add_argument("--all", action="store_true", help="start at the beginning of the log")
    parser.add_argument("--until-now", action="store_true", help="stop at the current end of the log")
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("follow").getOrCreate()
    rmqstore_spark.register(spark)
    spark.streams.addListener(LagListener())
    try:
        query = followed(
            spark, arguments.store, arguments.folder, topic=arguments.topic, everything=arguments.all, until_now=arguments.until_now
        )
        query.awaitTermination()
    except PySparkException as error:  # keep only the error message from Spark's output
        lines = [line.strip() for line in str(error).splitlines()]
        parser.exit(2, next((line for line in lines if line.startswith("native_reader.errors.")), lines[0]) + "\n")
    print(f"{spark.read.parquet(f'{arguments.folder}/messages').count():,} messages in {arguments.folder}/messages")


if __name__ == "__main__":
    main()
