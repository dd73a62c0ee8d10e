"""The Spark face of `native_reader`: `spark.read.format("rocketmq-store").load("/data/store")`.

Installed from a wheel, the format is found without a word. From an editable installation or a zip it is not:
`rmqstore_spark.register(spark)` then makes it known to a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make the format known to this session."""
    from rmqstore_spark.source import RocketmqStore

    spark.dataSource.register(RocketmqStore)
