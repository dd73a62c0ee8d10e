"""`account`: in which state each message of a store is that anything in it names. The parts are those of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from native_reader.account.account import COLUMNS, Account, joined
from native_reader.account.runs import SCHEMA as RUNS
from native_reader.account.runs import Runs
from native_reader.columns.projection import Projection
from native_reader.columns.spec import ColumnSpec
from native_reader.tables.findings import FINDINGS, VerifyPart, checked, parts_of_check
from native_reader.tables.table import Table
from native_reader.verify.findings import COLUMNS as FOUND
from native_reader.verify.findings import by_topic

_RUN = "run"


def _runs(part: VerifyPart, projection: Projection) -> Iterator[pa.RecordBatch]:
    runs = Runs()
    checked(part, projection, runs)
    if (batch := runs.batch()) is not None:
        yield batch


OF_PARTS = {field.name: ColumnSpec(field.type, "") for field in RUNS}
ACCOUNT = Table("account", COLUMNS, parts_of_check, batches=_runs, options=FINDINGS.options, merged=joined, of_parts=OF_PARTS)

_BOTH = pa.schema([*FINDINGS.schema, pa.field(_RUN, pa.struct(RUNS))])


def _findings_and_runs(part: VerifyPart, projection: Projection) -> Iterator[pa.RecordBatch]:
    """Both of one pass. The rows of the account have nothing but a run."""
    runs = Runs()
    if (found := checked(part, projection, runs).batch()) is not None:
        yield pa.RecordBatch.from_arrays([*found.columns, pa.nulls(len(found), _BOTH.field(_RUN).type)], schema=_BOTH)
    if (batch := runs.batch()) is not None:
        nothing = [pa.nulls(len(batch), field.type) for field in FINDINGS.schema]
        yield pa.RecordBatch.from_arrays([*nothing, batch.to_struct_array()], schema=_BOTH)


def with_account(keep: Callable[[Account], object]) -> Table[VerifyPart]:
    """The table `findings` whose read also makes the account. `keep` gets it at the end, if all was read."""

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runs: list[pa.RecordBatch] = []
        yield from by_topic(_without_runs(batches, runs))
        keep(Account.of(joined(runs)))

    both = {**FOUND, _RUN: ColumnSpec(_BOTH.field(_RUN).type, "")}
    return Table("findings", FOUND, parts_of_check, batches=_findings_and_runs, options=FINDINGS.options, merged=merge, of_parts=both)


def _without_runs(batches: Iterable[pa.RecordBatch], runs: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        run = batch.column(_RUN)
        if run.null_count == len(batch):
            yield batch.select(FINDINGS.schema.names)
        else:
            runs.append(pa.RecordBatch.from_struct_array(run))
