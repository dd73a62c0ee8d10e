"""Shows which messages consumers gave up, by group and topic, and saves them as Parquet: a batch job of Spark.

Usage: python examples/dead_letters.py STORE [FOLDER]
"""

from __future__ import annotations

import argparse

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import rmqstore_spark


def dead_letters(spark: SparkSession, store: str) -> DataFrame:
    """The messages of all dead-letter topics, with the group that gave them up."""
    columns = "topic,origin_topic,msg_id,keys,reconsume_times,born_timestamp,store_timestamp,body"
    frame = spark.read.format("rocketmq-store").options(where="kind = 'dlq'", columns=columns).load(store)
    return frame.withColumn("group", sf.expr("substr(topic, length('%DLQ%') + 1)")).drop("topic")


def by_group(letters: DataFrame) -> DataFrame:
    """How many there are of each group and topic, and since when."""
    counts = sf.count("*").alias("messages"), sf.min("store_timestamp").alias("first"), sf.max("store_timestamp").alias("last")
    return letters.groupBy("group", "origin_topic").agg(*counts).orderBy(sf.desc("messages"), "group", "origin_topic")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    parser.add_argument("store")
    parser.add_argument("folder", nargs="?", help="a new folder for the messages")
    arguments = parser.parse_args()
    settings = {"spark.sql.session.timeZone": "UTC", "spark.ui.showConsoleProgress": "false"}
    try:
        spark = SparkSession.builder.appName("dead letters").config(map=settings).getOrCreate()
        spark.sparkContext.setLogLevel("OFF")  # Spark would print pages about an error; below is its reason
        rmqstore_spark.register(spark)  # not needed after an install from a wheel
        letters = dead_letters(spark, arguments.store)
        by_group(letters).show(50, truncate=False)
        if arguments.folder:
            letters.write.parquet(arguments.folder)
            print(f"{spark.read.parquet(arguments.folder).count():,} messages in {arguments.folder}")
    except PySparkException as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")


if __name__ == "__main__":
    main()
