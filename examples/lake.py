"""Streams messages into an Iceberg table, by topic and day; each exactly once, over kills and restarts.

Usage: python examples/lake.py STORE WAREHOUSE [--topic NAME] [--until-now]
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import rmqstore
import rmqstore_spark
from rmqstore_spark.lag import is_up_to_date

TABLE = "rocketmq.messages"
COLUMNS = "store,physical_offset,topic,queue_id,queue_offset,kind,tags,msg_id,born_timestamp,store_timestamp,body"
OPTIONS = {"startingOffsets": "earliest", "columns": COLUMNS, "maxBytesPerTrigger": "64m"}
SETTINGS = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}  # `main` prints errors


def stream(given: argparse.Namespace, warehouse: Path) -> None:
    """Fill the table until the query ends. Iceberg has no jars for the newest Spark, so pyiceberg writes the rows of each batch."""
    from pyiceberg.catalog.sql import SqlCatalog  # if it is missing, Spark does not start

    print("starting Spark", flush=True)
    rmqstore_spark.register(spark := SparkSession.builder.appName("lake").config(map=SETTINGS).getOrCreate())
    frame = spark.readStream.format("rocketmq-store").options(**OPTIONS | ({"topic": given.topic} if given.topic else {})).load(given.store)
    warehouse.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=warehouse.as_uri())
    catalog.create_namespace_if_not_exists("rocketmq")
    before = catalog.load_table(TABLE).scan().count() if catalog.table_exists(TABLE) else 0
    new: list[int] = []  # the messages of each batch

    def append(frame: DataFrame, batch: int) -> None:
        """The number of the batch is kept in the same commit as its rows, so a repeated batch is not written again."""
        rows = frame.toArrow()
        table = catalog.create_table_if_not_exists(TABLE, rows.schema)
        if not table.spec().fields:
            table.update_spec().add_identity("topic").add_identity("day").commit()
        if rows.num_rows and not any(each.summary and int(each.summary.get("batch") or -1) >= batch for each in table.snapshots()):
            table.append(rows, snapshot_properties={"batch": str(batch)})
            print(f"batch {batch}: {rows.num_rows:,} messages", flush=True)
            new.append(rows.num_rows)

    print(f"Iceberg table {TABLE} of the catalog sqlite:///{warehouse}/catalog.db: {before:,} messages", flush=True)
    days = frame.selectExpr("*", "to_date(store_timestamp) day").writeStream.option("checkpointLocation", f"{warehouse}/checkpoint")
    query = (days.trigger(availableNow=True) if given.until_now else days.trigger(processingTime="10 seconds")).foreachBatch(append).start()
    told = -1  # the batches when "up to date" was printed
    while not query.awaitTermination(1):
        if told < len(new) and not given.until_now and is_up_to_date(query):
            told = len(new)
            print("up to date; waiting for new messages (Ctrl-C stops)", flush=True)
    print(f"{before + sum(new):,} messages in {TABLE}, {sum(new):,} of them new")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    for name in ("store", "warehouse", "--topic"):
        parser.add_argument(name)
    parser.add_argument("--until-now", action="store_true", help="stop at the current end of the log")
    given = parser.parse_args()
    try:
        doubts = rmqstore.open(given.store).messages(topic=given.topic).doubts()  # such as a topic that the store does not have
        if doubts or Path(given.warehouse).is_file():
            parser.exit(2, f"{doubts[0] if doubts else f'{given.warehouse} is a file. Name a folder'}\n")
        ThreadPoolExecutor(1).submit(stream, given, Path(given.warehouse).absolute()).result()
    except KeyboardInterrupt:  # here, so that it does not end a call to Spark, which prints tracebacks
        print("stopped; the same command continues", flush=True)
        os._exit(0)  # Java ends with this process. The table bears it at any time
    except Exception as error:
        advice = ". Run: pip install 'pyiceberg[pyarrow,sql-sqlite]'" if isinstance(error, ImportError) else ""
        parser.exit(2, f"{rmqstore_spark.reason(error)}{advice}\n")


if __name__ == "__main__":
    main()
