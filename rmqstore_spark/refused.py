"""What this PySpark or its Java cannot do, in one line. Other modules need a newer PySpark to be imported; this one needs 4.0."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
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


_LEAST = 17


class Unusable(Exception):
    """Why Spark cannot use the format here, and what to do."""


def java() -> str:
    """The version of the Java that Spark starts."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    advice = f"Spark needs Java {_LEAST} or newer. Install it, or set JAVA_HOME"
    if program is None:
        raise Unusable(f"Java is not on the PATH, and JAVA_HOME is not set. {advice}")
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise Unusable(f"{program} does not start: {error}. {advice}") from error
    found = re.search(r'version "(?:1\.)?(\d+)[^"]*"', said)
    if found is None or int(found[1]) < _LEAST:
        raise Unusable(f"{program} is {said.splitlines()[0] if said else 'of an unknown version'}. {advice}")
    return f"{found[0].split(chr(34))[1]}, {program}"
