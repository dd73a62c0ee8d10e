"""The Spark data source on top of `native_reader`: `spark.read.format("rocketmq-store").load("/data/store")`.

Spark discovers the format automatically if the package was installed from a wheel. After an editable install or from a zip,
call `rmqstore_spark.register(spark)` in the session. Import this module before the session is made, if a virtual environment's
Python runs the job without activation: Spark's workers then use that Python too.
"""

from __future__ import annotations

import sys
from os import environ
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["reason", "register"]


def register(spark: SparkSession) -> None:
    """Register the format in this session."""
    from pyspark.errors import PySparkException

    from rmqstore_spark.source import RocketmqStore

    try:
        spark.dataSource.register(RocketmqStore)
    except PySparkException as error:
        # PySpark 4.0 refuses a format that it found by itself; later versions replace it.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


def reason(error: BaseException) -> str:
    """The sentence that says what is wrong, of an error that Spark wrapped in stacks; of Spark's own errors, the first line."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    own = [line.partition(": ")[2] for line in lines if line.startswith("native_reader.errors.")]
    return [*lines[:1], *own][-1] if lines else type(error).__name__


def reason(error: BaseException) -> str:
    """The one sentence that says what is wrong, of an error that Spark wrapped in stacks; of Spark's own errors the first line."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    own = (line.partition(": ")[2] for line in lines if line.startswith("native_reader.errors."))
    return next(own, lines[0] if lines else type(error).__name__)


_CHOSEN = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT", "SPARK_ENV_LOADED")
"""Set by whoever chose a Python, and by spark-submit, which has options for it."""


def _use_this_python() -> None:
    """Have Spark start its workers with the Python of this virtual environment.

    PySpark 4.3 takes the first `python3` on the PATH. Without activation that is another one, which does not have this package.
    """
    if sys.prefix != sys.base_prefix and sys.executable and not any(name in environ for name in _CHOSEN):
        environ["PYSPARK_PYTHON"] = sys.executable


_use_this_python()
