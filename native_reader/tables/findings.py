"""`findings`: one row for each kind and place of inconsistency in a store. What the codes mean: `verify/codes.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import pyarrow as pa

from native_reader.columns.projection import Projection
from native_reader.tables.table import Table, TableRequest
from native_reader.verify.chains import check_file
from native_reader.verify.findings import COLUMNS, Findings, by_topic
from native_reader.verify.log import LogPart, check_segment
from native_reader.verify.plan import IndexPart, VerifyPart, plan_parts
from native_reader.verify.queue_files import QueuePart, check_queues
from native_reader.verify.store import StorePart, check_store


def _parts(request: TableRequest) -> list[VerifyPart]:
    return plan_parts(request.stores, request.ends, request.planning)


def _batches(part: VerifyPart, projection: Projection) -> Iterator[pa.RecordBatch]:
    findings = Findings()
    match part:
        case StorePart():
            check_store(part, findings)
        case LogPart():
            check_segment(part, projection, findings)
        case QueuePart():
            check_queues(part, findings)
        case IndexPart():
            check_file(part.file, part.sides, findings, newest=part.newest)
        case _:
            assert_never(part)
    if (batch := findings.batch()) is not None:
        yield batch


FINDINGS = Table("findings", COLUMNS, _parts, batches=_batches, options=("max_hash_slot_num", "time_skew_tolerance"), merged=by_topic)
