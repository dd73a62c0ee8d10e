"""The recipes of docs/recipes.md give the same answers in Spark and in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pysparks import HAS_STREAMS
from support.documented import write_stores
from support.golden import Golden
from support.recipes import BROKERS, Recipe, Row, answer_to, broker_stores, compare, of_broker, rows_of

from rmqstore_spark import reason

_PATH = re.compile(r'"(store|damaged|lake|lake-checkpoint|[a-z]+-by-(?:spark|python))"')


@pytest.mark.gate
def test_spark_and_python_give_the_same_answers(spark: SparkSession, tmp_path: Path) -> None:
    write_stores(tmp_path)
    compare_with_spark(spark, tmp_path, str)


@pytest.mark.long
def test_they_do_so_on_the_store_of_a_real_broker(spark: SparkSession, own_store: Callable[[str], Golden], tmp_path: Path) -> None:
    store = own_store(BROKERS[-1])
    broker_stores(store, tmp_path)
    compare_with_spark(spark, tmp_path, lambda code: of_broker(code, store))


def compare_with_spark(spark: SparkSession, folder: Path, changed: Callable[[str], str]) -> None:
    def here(code: str) -> str:
        """The code with full paths: the directory of the Java process is another one."""
        return changed(_PATH.sub(lambda found: f'"{folder}/{found[1]}"', code))

    def answer(recipe: Recipe, defined: dict[str, Any]) -> list[Row] | None:
        if HAS_STREAMS or "readStream" not in recipe.spark:
            return rows_of(answer_to(here(recipe.spark), defined))
        with pytest.raises(Exception, match=r"native_reader\.errors") as refused:
            answer_to(here(recipe.spark), defined)
        assert reason(refused.value).startswith("streams need PySpark 4.2 or newer"), recipe.title
        return None

    compare(here, answer, spark=spark)
