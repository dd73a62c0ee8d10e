"""The account of a store by Spark: each part of the check is a task, and the driver joins what they found."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from socket import gethostname
from typing import TYPE_CHECKING

import pyarrow as pa

from native_reader.account.account import Account, at_most, joined
from native_reader.account.runs import SCHEMA
from native_reader.tables.account import ACCOUNT, OF_PARTS
from rmqstore_spark.options import in_sparks_words
from rmqstore_spark.request import LoadRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PART = "part"
_DDL = {pa.string(): "string", pa.int32(): "int", pa.int64(): "bigint"}
_OF_RUNS = ", ".join(f"{field.name} {_DDL[field.type]}" for field in SCHEMA)
_MOST_OF_PART = 1 << 17
"""Runs of one part, 20 MB, so that the driver can hold those of all. If a corrupt segment has more, its offsets are not told."""
_OF_ONE_PART = replace(ACCOUNT, columns=OF_PARTS, merged=None)


def account_of(spark: SparkSession, path: str, options: Mapping[str, str]) -> Account:
    """See `rmqstore_spark.account`."""
    request = LoadRequest.of({"path": path, "table": ACCOUNT.name, **options})
    with in_sparks_words():
        parts = [bytearray(pickle.dumps(part)) for part in request.parts()]
    if not parts:
        return Account.of([])
    rows = spark.createDataFrame([(part,) for part in parts], f"{_PART} binary").repartition(len(parts))
    runs = rows.mapInArrow(_reading(request, gethostname()), _OF_RUNS).toArrow()
    return Account.of(joined(runs.cast(SCHEMA).to_batches()))


def _reading(request: LoadRequest, planned_on: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(_PART).to_pylist():
                request.connect()
                with in_sparks_words(planned_on):
                    runs = pa.Table.from_batches(_OF_ONE_PART.read(pickle.loads(part), request.projection), SCHEMA)
                yield from at_most(runs, _MOST_OF_PART).to_batches()

    return read
