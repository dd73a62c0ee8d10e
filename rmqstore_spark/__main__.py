"""Says whether Spark can use the format here: python -m rmqstore_spark. With --options, lists the options."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pkgutil import iter_modules

from rmqstore_spark.refused import Unusable, java

_USAGE = "usage: python -m rmqstore_spark [--options]"
_LEAST_SPARK = (4, 0)
_READ = 'spark.read.format("rocketmq-store").load("/data/store").show()'
_FOUND = ("  spark = pyspark.sql.SparkSession.builder.getOrCreate()", f"  {_READ}")
_REGISTERED = ("  rmqstore_spark.register(spark)", f"  {_READ}")


def main(arguments: list[str]) -> int:
    """Run it, and return the exit code."""
    if arguments == ["--options"]:
        from rmqstore_spark.options import as_markdown

        sys.stdout.write(as_markdown() + "\n")
        return 0
    if arguments:
        sys.stderr.write(f"{_USAGE}\n")
        return 2
    try:
        found = list(lines())
    except Unusable as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 0


def lines() -> Iterator[str]:
    """What Spark needs, and what of it is here."""
    yield f"Python      {'.'.join(map(str, sys.version_info[:3]))}, {sys.executable}"
    yield f"PySpark     {_pyspark()}"
    yield f"Java        {java()}"
    yield f"Arrow       pyarrow {version('pyarrow')}, numpy {version('numpy')}"
    from native_reader import kernel_info

    yield f"kernel      {kernel_info()}"
    # As Spark looks for it: it does not find the modules of an editable install.
    is_found = any(module.name == "pyspark_rmqstore" for module in iter_modules())
    yield f"format      rocketmq-store; {'Spark finds it by itself' if is_found else 'Spark does not find it: register it in each session'}"
    yield ""
    yield "Spark can read stores here:"
    yield ""
    yield from (_FOUND if is_found else _REGISTERED)


def _pyspark() -> str:
    """The version of PySpark, if it can have our data source."""
    if find_spec("pyspark") is None:
        raise Unusable("PySpark is not installed. Install it: pip install 'pyspark>=4.0'")
    import pyspark

    found = tuple(int(number) for number in re.findall(r"\d+", pyspark.__version__)[:2])
    if found < _LEAST_SPARK:
        raise Unusable(f"PySpark {pyspark.__version__} has no data sources in Python. Install 4.0 or newer: pip install 'pyspark>=4.0'")
    return pyspark.__version__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
