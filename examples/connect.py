"""Shows the newest messages of a topic through Spark Connect: the store and its reader are on the server, only rows come here.

Usage: python examples/connect.py STORE TOPIC [--remote sc://HOST:15002] [--rows NUMBER]

The server needs this package in the Python that it starts for its workers. STORE is a path of the server.
"""

from __future__ import annotations

import argparse
import socket
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import rmqstore_spark


def newest(spark: SparkSession, store: str, topic: str, rows: int) -> DataFrame:
    """The newest messages of the topic, the newest one first."""
    columns = "store_timestamp,queue_id,queue_offset,tags,keys,body_text"
    frame = spark.read.format("rocketmq-store").options(topic=topic, columns=columns).load(store)
    frame = frame.withColumns({"keys": sf.concat_ws(" ", "keys"), "body_text": sf.substring("body_text", 1, 40)})
    return frame.orderBy(sf.desc("store_timestamp"), "queue_id", sf.desc("queue_offset")).limit(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    parser.add_argument("store")
    parser.add_argument("topic")
    parser.add_argument("--remote", default="sc://127.0.0.1:15002")
    parser.add_argument("--rows", type=int, default=10)
    arguments = parser.parse_args()
    server = urlsplit(arguments.remote)
    try:
        socket.create_connection((server.hostname, server.port or 15002), timeout=10).close()  # Spark's client tries for minutes
        spark = SparkSession.builder.remote(arguments.remote).getOrCreate()
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        newest(spark, arguments.store, arguments.topic, arguments.rows).show(arguments.rows, truncate=False)
    except PySparkException as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")
    except (OSError, ValueError) as error:
        parser.exit(2, f"no Spark Connect server at {arguments.remote}: {error}\n")


if __name__ == "__main__":
    main()
