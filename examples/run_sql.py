"""Runs the statements of an SQL file on a store, and prints what they return. All work is in the SQL.

Usage: python examples/run_sql.py STORE [FILE.sql]    (without a file: lag.sql, which is in the same folder as this script)
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import rmqstore_spark


def statements(text: str) -> list[str]:
    """The statements of a file. Each ends with a semicolon at the end of a line."""
    return [each for each in (part.strip() for part in f"{text}\n".split(";\n")) if each]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.prog += " (see --help)"
    parser.add_argument("store")
    parser.add_argument("file", nargs="?", type=Path, default=Path(__file__).with_name("lag.sql"))
    arguments = parser.parse_args()
    try:
        text = arguments.file.read_text(encoding="utf-8")
    except OSError as error:
        parser.exit(2, f"{arguments.file}: {error.strerror}\n")
    settings = {"spark.sql.session.timeZone": "UTC", "spark.ui.showConsoleProgress": "false"}
    try:
        spark = SparkSession.builder.appName("SQL").config(map=settings).getOrCreate()
        spark.sparkContext.setLogLevel("OFF")  # Spark would print pages about an error; below is its reason
        rmqstore_spark.register(spark)  # not needed after an install from a wheel
        spark.conf.set("path", arguments.store)  # SQL reads it as ${path}
        for statement in statements(text):
            result = spark.sql(statement)
            if result.columns:
                result.show(100, truncate=False)
    except PySparkException as error:
        parser.exit(2, f"{rmqstore_spark.reason(error)}\n")


if __name__ == "__main__":
    main()
