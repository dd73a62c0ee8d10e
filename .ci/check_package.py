"""The wheel in a clean environment with Spark: the format is found, its module is light, and from a zip it can be registered.

check_package.py WHEEL PYTHON SCRATCH: PYTHON is of an environment where the wheel was installed with its extra `spark`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

WRITE = """
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
write_store("store", StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 19, max_hash_slot_num=100, max_index_num=400))
"""
COUNT = """
import native_reader
print(native_reader.open("store").messages().count_rows())
"""
SESSION = """
import sys
from pyspark.sql import SparkSession
quiet = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.ui.showConsoleProgress": "false"}
spark = SparkSession.builder.master("local[1]").config(map=quiet).getOrCreate()
"""
FOUND = (
    SESSION
    + """
print(spark.read.format("rocketmq-store").load("store").count())
spark.sql("CREATE TEMPORARY VIEW log USING `rocketmq-store` OPTIONS (path 'store')")
print(spark.sql("SELECT count(*) FROM log").first()[0])
assert not {"rmqstore", "rmqstore_spark", "native_reader", "pyspark_rmqstore"} & set(sys.modules), "the user's process imported ours"
"""
)
LIGHT = """
import sys, time
import pyspark.sql.datasource
before, begun = set(sys.modules), time.perf_counter()
import pyspark_rmqstore
print(f"{1000 * (time.perf_counter() - begun):.1f}")
new = {name for name in set(sys.modules) - before if name.partition(".")[0] not in ("rmqstore_spark", "pyspark_rmqstore")}
heavy = {name for name in new if name.partition(".")[0] in ("numpy", "pyarrow", "native_reader", "pandas")}
assert not heavy, f"importing pyspark_rmqstore imports {heavy}"
assert pyspark_rmqstore.DefaultSource.name() == "rocketmq-store"
"""
UNBREAKABLE = """
import sys
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ImportError(f"{name} is broken")
sys.meta_path.insert(0, Broken())
import pyspark_rmqstore
assert hasattr(pyspark_rmqstore, "DefaultSource") == (sys.argv[1] in ("numpy", "native_reader")), dir(pyspark_rmqstore)
"""
ZIPPED = (
    SESSION
    + """
spark.sparkContext.addPyFile(sys.argv[1])
import rmqstore_spark
assert ".zip" in rmqstore_spark.__file__, rmqstore_spark.__file__
rmqstore_spark.register(spark)
print(spark.read.format("rocketmq-store").load("store").count())
"""
)


class Clean:
    """Runs code in the clean environment, from a folder that has nothing of ours."""

    def __init__(self, python: str, folder: Path) -> None:
        self._python, self._folder = python, folder
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
        self._environment = inherited | {"PYSPARK_PYTHON": python}

    def __call__(self, what: str, code: str, *arguments: str) -> list[str]:
        begun = time.perf_counter()
        command = [self._python, "-c", code, *arguments]
        ended = subprocess.run(command, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False, timeout=300)
        if ended.returncode:
            sys.exit(f"{what}: FAILED\n{ended.stdout}{ended.stderr}")
        lines = ended.stdout.split()
        print(f"{what}: {', '.join(lines) or 'right'}, {time.perf_counter() - begun:.1f} s", flush=True)
        return lines


def main(wheel: Path, python: str, scratch: Path) -> None:
    folder = scratch / "elsewhere"
    folder.mkdir()
    run = Clean(python, folder)
    run("a store is written", WRITE)
    rows = run("its rows, by the engine", COUNT)
    found = run("its rows, by a Spark that imports nothing of ours, and in SQL", FOUND)
    assert found == rows * 2, f"Spark found {found}, the engine {rows}"
    run("import pyspark_rmqstore, ms", LIGHT)
    for broken in ("pyspark", "numpy", "native_reader", "rmqstore_spark"):
        run(f"the same where {broken} is broken", UNBREAKABLE, broken)
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "rmqstore-spark"], check=True)
    zipped = scratch / f"{wheel.stem}.zip"
    zipped.write_bytes(wheel.read_bytes())
    found = run("its rows, by a Spark that got a zip and registered it", ZIPPED, str(zipped))
    assert found == rows, f"Spark found {found}, the engine {rows}"


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2], Path(sys.argv[3]).absolute())
