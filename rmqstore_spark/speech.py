"""Raises errors with Spark's option names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from native_reader.errors import StoreError
from rmqstore_spark.options import spark_name


@contextmanager
def in_sparks_words() -> Iterator[None]:
    """Raise the engine's errors with Spark's option names, and without a second traceback."""
    try:
        yield
    except StoreError as error:
        raise error.spelled(spark_name) from None
