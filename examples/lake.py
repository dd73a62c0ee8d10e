"""Streams messages into a lake table, Delta or Iceberg, by topic and day; each exactly once, over kills and restarts.

Usage: python examples/lake.py STORE WAREHOUSE [--iceberg] [--until-now]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import rmqstore_spark

COLUMNS = "store,physical_offset,topic,queue_id,queue_offset,kind,tags,msg_id,born_timestamp,store_timestamp,body"
OPTIONS = {"startingOffsets": "earliest", "columns": COLUMNS, "maxBytesPerTrigger": "64m"}
QUIET = {"spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def session(builder: SparkSession.Builder, *, iceberg: bool) -> SparkSession:
    """A session; for Delta with its jars, which Spark fetches from Maven Central at the first time."""
    if not iceberg:
        from delta import configure_spark_with_delta_pip

        builder = configure_spark_with_delta_pip(builder).config(map=DELTA)
    return builder.getOrCreate()


def into_iceberg(writer: DataStreamWriter, warehouse: Path) -> DataStreamWriter:
    """Iceberg without its jars, by pyiceberg. The number of the batch is kept in the same commit as its rows, as with Delta."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=warehouse.as_uri())
    catalog.create_namespace_if_not_exists("rocketmq")

    def append(frame: DataFrame, batch: int) -> None:
        rows = frame.toArrow()
        table = catalog.create_table_if_not_exists("rocketmq.messages", rows.schema)
        if not table.spec().fields:
            with table.update_spec() as spec:
                spec.add_identity("topic").add_identity("day")
        written = [int(each.summary["batch"]) for each in table.snapshots() if each.summary and each.summary.get("batch")]
        if batch > max(written, default=-1) and rows.num_rows:
            table.append(rows, snapshot_properties={"batch": str(batch)})

    return writer.foreachBatch(append)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--iceberg", action="store_true", help="an Iceberg table; otherwise a Delta table")
    parser.add_argument("--until-now", action="store_true", help="stop at the current end of the log")
    given = parser.parse_args()
    (warehouse := given.warehouse.absolute()).mkdir(parents=True, exist_ok=True)
    try:
        spark = session(SparkSession.builder.appName("lake").config(map=QUIET), iceberg=given.iceberg)
        spark.sparkContext.setLogLevel("OFF")  # Spark would print pages about an error; below is its reason
        rmqstore_spark.register(spark)
        frame = spark.readStream.format("rocketmq-store").options(**OPTIONS).load(given.store)
        writer = frame.selectExpr("*", "to_date(store_timestamp) day").writeStream
        if given.iceberg:
            writer = into_iceberg(writer, warehouse)
        else:  # Delta keeps the number of the batch in the same commit as its rows, so a repeated batch is not written again.
            writer = writer.format("delta").partitionBy("topic", "day").option("path", str(warehouse / "messages"))
        writer = writer.trigger(availableNow=True) if given.until_now else writer.trigger(processingTime="10 seconds")
        writer.option("checkpointLocation", str(warehouse / "checkpoint")).start().awaitTermination()
    except (PySparkException, ImportError) as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")


if __name__ == "__main__":
    main()
