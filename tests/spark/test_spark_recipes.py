"""The recipes of docs/recipes.md give the same answers in Spark and in Python."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession
from support.documented import write_stores
from support.recipes import answer_to, comparable, names, recipes, rows_of

_PATH = re.compile(r'"(store|damaged|lake|lake-checkpoint|[a-z]+-by-(?:spark|python))"')


def test_spark_and_python_give_the_same_answers(spark: SparkSession, tmp_path: Path) -> None:
    write_stores(tmp_path)

    def here(code: str) -> str:
        """The code with full paths: the directory of the Java process is another one."""
        return _PATH.sub(lambda found: f'"{tmp_path}/{found[1]}"', code)

    defined = names(here, spark=spark)
    for recipe in recipes():
        rows = rows_of(answer_to(here(recipe.python), defined))
        columns = list(rows[0])
        assert comparable(rows_of(answer_to(here(recipe.spark), defined)), columns) == comparable(rows, columns), recipe.title
