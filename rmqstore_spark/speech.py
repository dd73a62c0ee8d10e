"""Rewrites errors for Spark users: option names as in Spark, and the message at the end of the output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from native_reader.errors import StoreError
from rmqstore_spark.options import OPTIONS, python_name

_SPARKS = {python_name(option.name): option.name for option in OPTIONS}
_COLUMNS_TOO = ("queue_id", "msg_id")
"""Treated as options only before `=`; otherwise they are column names."""
_NAMES = re.compile(rf"(?<![\w.'])({'|'.join(f'{name}(?==)' if name in _COLUMNS_TOO else name for name in _SPARKS)})\b(=True|=False)?")


@contextmanager
def in_sparks_words() -> Iterator[None]:
    """Raise the engine's errors with Spark's option names and without a second traceback."""
    try:
        yield
    except StoreError as error:
        raise type(error)(sparks_words(str(error))) from None


def sparks_words(sentence: str) -> str:
    """`max_partition_bytes` becomes `maxPartitionBytes`, `=False` becomes `=false`."""
    return _NAMES.sub(lambda found: _SPARKS[found[1]] + (found[2] or "").lower(), sentence)
