"""What an older PySpark cannot do is said in one line, and what Spark wraps in stacks is found again."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from pyspark.errors import AnalysisException
from support.stores import files_of, on_disk

import native_reader as nr
import rmqstore_spark
from rmqstore_spark import refused
from rmqstore_spark.source import RocketmqStore

WRAPPED = """[STREAM_FAILED] Query [id = 1] terminated with exception: Failed when perform latestOffset: Traceback
  File "rmqstore_spark/refused.py", line 22, in _refuse
    raise self._error
native_reader.errors.UseError: a stream needs PySpark 4.2 or newer: this is PySpark 4.1.4
 SQLSTATE: 38000
=== Streaming Query ==="""


def test_a_stream_on_an_older_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """ModuleNotFoundError: No module named 'pyspark.sql.streaming.datasource', and then an UnboundLocalError of Spark's."""
    monkeypatch.setattr(refused, "find_spec", lambda _: None)
    on_disk(tmp_path, files_of())
    source = RocketmqStore({"path": str(tmp_path / "store")})
    reader = source.streamReader(source.schema())
    with pytest.raises(nr.StoreError) as raised:
        reader.initialOffset()
    assert str(raised.value) == f"a stream needs PySpark 4.2 or newer; this is PySpark {pyspark.__version__}. Batch reads work"


def test_pushdown_on_pyspark_4_0(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """AttributeError: module 'pyspark.sql.datasource' has no attribute 'EqualTo'."""
    monkeypatch.delattr(refused.datasource, "EqualTo", raising=False)
    on_disk(tmp_path, files_of())
    source = RocketmqStore({"path": str(tmp_path / "store"), "filterPushdown": "true"})
    with pytest.raises(nr.StoreError, match=r"^filterPushdown needs PySpark 4\.1 or newer; this is .*\. Use the option where instead$"):
        source.reader(source.schema())


class Refusal(AnalysisException):
    """An error of Spark's with that condition."""

    def __init__(self, condition: str) -> None:
        super().__init__(condition)
        self._condition = condition

    def getCondition(self) -> str:
        return self._condition


class Session:
    """A session that refuses each format with one condition, as PySpark 4.0 refuses what it knows already."""

    def __init__(self, condition: str) -> None:
        self._condition = condition

    @property
    def dataSource(self) -> Session:
        return self

    def register(self, _: object) -> None:
        raise Refusal(self._condition)


def test_a_format_that_pyspark_4_0_found_by_itself_can_be_registered() -> None:
    rmqstore_spark.register(Session("DATA_SOURCE_ALREADY_EXISTS"))  # type: ignore[arg-type]
    with pytest.raises(Refusal):
        rmqstore_spark.register(Session("SOMETHING_ELSE"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WRAPPED, "a stream needs PySpark 4.2 or newer: this is PySpark 4.1.4"),
        ("[PATH_NOT_FOUND] Path does not exist.\nmore", "[PATH_NOT_FOUND] Path does not exist."),
        ("", "ValueError"),
    ],
)
def test_the_reason_of_an_error(text: str, expected: str) -> None:
    assert rmqstore_spark.reason(ValueError(text)) == expected
