"""Streams messages into an Iceberg table, by topic and day; each exactly once, over kills and restarts.

Usage: python examples/lake.py STORE WAREHOUSE [--topic NAME] [--until-now]
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import rmqstore_spark

TABLE = "rocketmq.messages"
COLUMNS = "store,physical_offset,topic,queue_id,queue_offset,kind,tags,msg_id,born_timestamp,store_timestamp,body"
OPTIONS = {"startingOffsets": "earliest", "columns": COLUMNS, "maxBytesPerTrigger": "64m"}
SETTINGS = {"spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}
interrupts: list[int] = []


def stream(given: argparse.Namespace, warehouse: Path) -> None:
    """Fill the table until the query ends. Iceberg has no jars for the newest Spark, so pyiceberg writes the rows of each batch."""
    from pyiceberg.catalog.sql import SqlCatalog  # if it is missing, Spark does not start

    spark = SparkSession.builder.appName("lake").config(map=SETTINGS).getOrCreate()
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))  # an exception inside a call to Spark prints tracebacks
    spark.sparkContext.setLogLevel("OFF")  # Spark would print pages about an error; `main` prints its reason
    rmqstore_spark.register(spark)
    options = OPTIONS | ({"topic": given.topic} if given.topic else {})
    frame = spark.readStream.format("rocketmq-store").options(**options).load(given.store)
    warehouse.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=warehouse.as_uri())
    catalog.create_namespace_if_not_exists("rocketmq")

    def size() -> int:
        return catalog.load_table(TABLE).scan().count() if catalog.table_exists(TABLE) else 0

    def append(frame: DataFrame, batch: int) -> None:
        """The number of the batch is kept in the same commit as its rows, so a repeated batch is not written again."""
        rows = frame.toArrow()
        table = catalog.create_table_if_not_exists(TABLE, rows.schema)
        if not table.spec().fields:
            with table.update_spec() as spec:
                spec.add_identity("topic").add_identity("day")
        written = [int(each.summary["batch"]) for each in table.snapshots() if each.summary and each.summary.get("batch")]
        if batch > max(written, default=-1) and rows.num_rows:
            table.append(rows, snapshot_properties={"batch": str(batch)})
            print(f"batch {batch}: {rows.num_rows:,} messages", flush=True)

    print(f"Iceberg table {TABLE} of the catalog sqlite:///{warehouse}/catalog.db: {(before := size()):,} messages", flush=True)
    days = frame.selectExpr("*", "to_date(store_timestamp) day").writeStream.option("checkpointLocation", f"{warehouse}/checkpoint")
    query = (days.trigger(availableNow=True) if given.until_now else days.trigger(processingTime="10 seconds")).foreachBatch(append).start()
    while not query.awaitTermination(1):
        if interrupts:
            raise KeyboardInterrupt
    print(f"{(after := size()):,} messages in {TABLE}, {after - before:,} of them new")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--topic")
    parser.add_argument("--until-now", action="store_true", help="stop at the current end of the log")
    given = parser.parse_args()
    try:
        stream(given, given.warehouse.absolute())
    except KeyboardInterrupt:
        print("stopped; the same command continues")
    except ImportError as error:
        parser.exit(2, f"{error}. Run: pip install 'pyiceberg[pyarrow,sql-sqlite]'\n")
    except PySparkException as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")


if __name__ == "__main__":
    main()
