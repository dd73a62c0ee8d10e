"""The Spark data source on top of `native_reader`: `spark.read.format("rocketmq-store").load("/data/store")`.

Spark discovers the format automatically if the package was installed from a wheel. After an editable install or from a zip,
call `rmqstore_spark.register(spark)` in the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Register the format in this session."""
    from rmqstore_spark.source import RocketmqStore

    spark.dataSource.register(RocketmqStore)
