"""What this PySpark cannot do, said in one line. Imports nothing that older versions do not have."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pyspark
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceStreamReader

from native_reader.errors import StoreError, UseError


class RefusedStream(DataSourceStreamReader):
    """Raises the error of an invalid request, at a point where Spark shows it unchanged."""

    def __init__(self, error: StoreError) -> None:
        self._error = error

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise self._error

    initialOffset = latestOffset = partitions = read = _refuse


def refuse_stream() -> None:
    """Raise an error if streams are not possible: limits for Python streams came with PySpark 4.2."""
    if find_spec("pyspark.sql.streaming.datasource") is None:
        raise UseError(f"a stream needs PySpark 4.2 or newer; this is PySpark {pyspark.__version__}. Batch reads work")


def refuse_pushdown() -> None:
    """Raise an error if Spark offers no filters: it does since PySpark 4.1."""
    if not hasattr(datasource, "EqualTo"):
        raise UseError(f"filterPushdown needs PySpark 4.1 or newer; this is PySpark {pyspark.__version__}. Use the option where instead")
