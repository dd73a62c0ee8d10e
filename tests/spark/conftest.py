"""One real Spark session for the tests of the data source, which run in one process, one after another.

With a PySpark older than 4.2, the tests of what it does not have are skipped by name; docs/compatibility.md has the list.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from conditions import odd_messages
from pyspark.sql import SparkSession
from pysparks import PYSPARK
from support.effort import WHOLE
from support.golden import Golden
from support.recipes import broker_stores
from support.stores import files_of, log_of, on_disk

import rmqstore_spark
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

HERE = Path(__file__).parent


# Without filters, it cannot be imported.
collect_ignore = ["test_spark_pushdown.py"] if PYSPARK < (4, 1) else []


def pytest_configure(config: pytest.Config) -> None:
    if PYSPARK < (4, 2):  # its accumulators and 4.0's stream reader leave sockets open
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


def pytest_report_header() -> str:
    ignored = f"; not collected, because it needs a newer one: {', '.join(collect_ignore)}" if collect_ignore else ""
    return f"pyspark: {pyspark.__version__}{ignored}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share the session run in one worker, tests that start their own Spark in another, in the sweep each file in any.

    The slowest run first.
    """
    mine = [item for item in items if HERE in item.path.parents]
    for item in items:
        needed = item.get_closest_marker("pyspark")
        if needed and needed.args > PYSPARK:
            item.add_marker(pytest.mark.skip(reason=f"needs PySpark {'.'.join(map(str, needed.args))}; this is {pyspark.__version__}"))
    for item in mine:
        others = item.path.stem if WHOLE else "processes"
        item.add_marker(pytest.mark.xdist_group("spark" if "spark" in item.fixturenames else others))  # type: ignore[attr-defined]
    items[:] = mine + [item for item in items if item not in mine]


@pytest.fixture(scope="session", autouse=True)
def archived(quick_sparks: None) -> None:
    """Tests in this folder start Sparks."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    # Spark starts its workers with the `python3` on the PATH, whatever Python runs the tests.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    scratch = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}",
    }
    session = SparkSession.builder.master("local[2]").appName("tests").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    rmqstore_spark.register(session)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def as_it_was(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test leaves settings, cached frames or views to the next one."""
    yield
    if "spark" in request.fixturenames:
        session: SparkSession = request.getfixturevalue("spark")
        session.catalog.clearCache()
        for name in ("spark.sql.session.timeZone", "spark.sql.adaptive.enabled", "spark.sql.python.filterPushdown.enabled"):
            session.conf.unset(name)
        for table in session.catalog.listTables():
            if table.isTemporary:
                session.catalog.dropTempView(table.name)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that no test changes: 40 records in several segments."""
    return on_disk(tmp_path_factory.mktemp("kept"), files_of(log_of(40))) / "store"


@pytest.fixture(scope="session")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that no test changes, with records of every kind: 4 MiB in 4 segments."""
    path = tmp_path_factory.mktemp("varied") / "store"
    write_store(path, StoreSpec(bytes=4 << 20, rare=0.2, mapped_file_size_commit_log=1 << 20, max_hash_slot_num=1000, max_index_num=4000))
    return path


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that no test changes, with texts and numbers that are hard for conditions."""
    return on_disk(tmp_path_factory.mktemp("odd"), files_of(log_of(odd_messages(), 4096))) / "store"


@pytest.fixture
def stores(own_store: Callable[[str], Golden], tmp_path: Path) -> Path:
    """A folder with `store`, written by a real broker, and `damaged`, a copy with a page of zeros."""
    broker_stores(own_store("5.5.0-kinds"), tmp_path)
    return tmp_path
