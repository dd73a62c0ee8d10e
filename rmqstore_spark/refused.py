"""What this PySpark cannot do, in one line. Other modules need a newer PySpark to be imported; this one needs 4.0."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NoReturn

import pyspark
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceStreamReader

from native_reader.errors import OptionError, StoreError, UseError


class RefusedStream(DataSourceStreamReader):
    """Raises the error of an invalid request, at a point where Spark shows it unchanged."""

    def __init__(self, error: StoreError) -> None:
        self._error = error

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise self._error

    initialOffset = latestOffset = partitions = read = _refuse


def refuse_writes() -> NoReturn:
    """Say that nothing can be written."""
    raise UseError("this source is read-only: a store is never changed. Send messages to a broker, or write them in another format")


def check_streams() -> None:
    """Reject a stream if this PySpark has no limits for streams of Python, which `rmqstore_spark.stream` imports."""
    if find_spec("pyspark.sql.streaming.datasource") is None:
        raise UseError(f"streams need PySpark 4.2 or newer; this is {pyspark.__version__}. Batch reads work")


def check_pushdown() -> None:
    """Reject filter pushdown if this PySpark has no filters, which `rmqstore_spark.pushdown` imports."""
    if not hasattr(datasource, "Filter"):
        this = pyspark.__version__
        raise OptionError(f"filterPushdown=true needs PySpark 4.1 or newer; this is {this}. Use the option where instead")
