"""The Spark data source on top of `native_reader`: `spark.read.format("rocketmq-store").load("/data/store")`.

Spark discovers the format automatically if the package was installed from a wheel. After an editable install or from a zip,
call `rmqstore_spark.register(spark)` in the session. Import this module before the session is made, if a virtual environment's
Python runs the job without activation: Spark's workers then use that Python too. `rmqstore_spark.reason(error)` is an error of Spark
in one line. `rmqstore_spark.read(spark, path, columns=…, where=…)` loads what one query needs, and registers the format if needed.
`rmqstore_spark.account(spark, path)` counts in which state the messages of a store are.
"""

from __future__ import annotations

import sys
from os import environ
from typing import TYPE_CHECKING

from rmqstore_spark.errors import reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from native_reader.account.account import Account

__all__ = ["account", "read", "reason", "register"]


def register(spark: SparkSession) -> None:
    """Register the format `rocketmq-store` in a session. Not needed where the package was installed from a wheel.

    Args:
        spark: The session.

    Raises:
        UseError: PySpark is older than 4.0.

    Examples:
        >>> from pyspark.sql import SparkSession
        >>> spark = SparkSession.builder.getOrCreate()
        >>> rmqstore_spark.register(spark)
        >>> spark.read.format("rocketmq-store").load("store").count()
        255
    """
    if not hasattr(spark, "dataSource"):
        from native_reader.errors import UseError

        raise UseError(f"rocketmq-store needs PySpark 4.0 or newer, which has data sources in Python; this is {spark.version}")
    from pyspark.errors import PySparkException

    from rmqstore_spark.source import RocketmqStore

    try:
        spark.dataSource.register(RocketmqStore)
    except PySparkException as error:
        # PySpark 4.0 rejects a name that it knows, also one that it has discovered itself; newer ones replace it.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


def read(
    spark: SparkSession,
    path: str | Sequence[str],
    *,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    **options: str | int | bool,
) -> DataFrame:
    """Load what one query needs: only these columns, and only rows for which the condition is true.

    Spark asks a Python source for all columns and all rows of a DataFrame, whatever the query uses. Each call is a new read of the
    store, so `filterPushdown=True` is safe here as long as a DataFrame is used once.

    Args:
        spark: The session. The format is registered in it, if it does not know it.
        path: The store, or several.
        columns: Their names, `heads` or `*`; the default columns if None.
        where: An SQL condition: docs/filters.md.
        **options: Other options, as `spark.read` takes them: docs/options.md.

    Raises:
        UseError: PySpark is older than 4.0.
        AnalysisException: An option, a column or the path is wrong.

    Examples:
        >>> rmqstore_spark.read(spark, "store", columns="topic,tags", where="queue_id = 0", topic="orders").count()
        7
    """
    asked = {"columns": columns if columns is None or isinstance(columns, str) else ",".join(columns), "where": where, **options}

    def load() -> DataFrame:
        named = {name: value for name, value in asked.items() if value is not None}
        return spark.read.format("rocketmq-store").options(**named).load(path if isinstance(path, str) else list(path))

    from pyspark.errors import AnalysisException

    try:
        return load()
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_NOT_FOUND":
            raise
    register(spark)
    return load()


def account(spark: SparkSession, path: str, **options: str) -> Account:
    """Count in which state the messages of a store are; each segment is a task.

    The driver needs about 200 bytes for each queue and segment.

    Args:
        spark: The session.
        path: The store.
        **options: As `spark.read` takes them for the table `account`.

    Raises:
        OptionError: An option does not exist, or its value is invalid.
        PathError: There is no store.

    Examples:
        >>> rmqstore_spark.account(spark, "store").is_whole
        True
    """
    from rmqstore_spark.accounting import account_of

    return account_of(spark, path, options)


_CHOSEN = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT", "SPARK_ENV_LOADED")
"""Set by whoever chose a Python, and by spark-submit, which has options for it."""


def _use_this_python() -> None:
    """Have Spark start its workers with the Python of this virtual environment.

    PySpark 4.3 takes the first `python3` on the PATH. Without activation that is another one, which does not have this package.
    """
    if sys.prefix != sys.base_prefix and sys.executable and not any(name in environ for name in _CHOSEN):
        environ["PYSPARK_PYTHON"] = sys.executable


_use_this_python()
