"""Shows how many messages and bytes each topic got in each hour: a job for spark-submit.

Usage: spark-submit [--py-files rmqstore_spark.zip] examples/topics_by_hour.py STORE [--since TIME] [--rows NUMBER]

The option --py-files is for nodes that do not have this package. Make the zip in a clone:
python -m zipfile -c rmqstore_spark.zip native_reader rmqstore_spark pyspark_rmqstore
"""

from __future__ import annotations

import argparse

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import rmqstore_spark


def by_hour(spark: SparkSession, store: str, since: str | None) -> DataFrame:
    """One row for each hour and topic, the newest hour first."""
    options = {"columns": "topic,record_size,inner_index,store_timestamp"} | ({"startingTimestamp": since} if since else {})
    frame = spark.read.format("rocketmq-store").options(**options).load(store)
    # Each message of an inner batch has the size of the whole record: count it only for the first message.
    size = sf.when(sf.coalesce("inner_index", sf.lit(0)) == 0, sf.col("record_size"))
    hour = sf.date_trunc("hour", "store_timestamp").alias("hour")
    sums = frame.groupBy(hour, "topic").agg(sf.count("*").alias("messages"), sf.sum(size).alias("bytes"))
    return sums.orderBy(sf.desc("hour"), sf.desc("bytes"), "topic")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    parser.add_argument("store")
    parser.add_argument("--since", help="a time with its zone: 2026-01-31T12:00:00Z")
    parser.add_argument("--rows", type=int, default=50)
    arguments = parser.parse_args()
    settings = {"spark.sql.session.timeZone": "UTC", "spark.ui.showConsoleProgress": "false"}
    try:
        spark = SparkSession.builder.appName("topics by hour").config(map=settings).getOrCreate()
        spark.sparkContext.setLogLevel("OFF")  # Spark would print pages about an error; below is its reason
        rmqstore_spark.register(spark)  # Spark does not discover the format in a zip
        by_hour(spark, arguments.store, arguments.since).show(arguments.rows, truncate=False)
    except PySparkException as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")


if __name__ == "__main__":
    main()
