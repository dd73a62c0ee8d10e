"""`account`: in which state each message of a store is that anything in it names. The parts are those of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa

from native_reader.account.account import COLUMNS, Account, joined
from native_reader.account.runs import SCHEMA as RUNS
from native_reader.account.runs import Runs
from native_reader.columns.projection import Projection
from native_reader.columns.spec import ColumnSpec
from native_reader.records.damages import SCHEMA as RANGES
from native_reader.records.damages import Damages
from native_reader.tables.findings import FINDINGS, VerifyPart, checked, parts_of_check
from native_reader.tables.table import Table
from native_reader.verify.findings import COLUMNS as FOUND
from native_reader.verify.findings import by_topic

_RUN, _DAMAGE = "run", "damage"


def _runs(part: VerifyPart, projection: Projection) -> Iterator[pa.RecordBatch]:
    runs = Runs()
    checked(part, projection, runs)
    if (batch := runs.batch()) is not None:
        yield batch


OF_PARTS = {field.name: ColumnSpec(field.type, "") for field in RUNS}
ACCOUNT = Table("account", COLUMNS, parts_of_check, batches=_runs, options=FINDINGS.options, merged=joined, of_parts=OF_PARTS)

_BOTH = pa.schema([*FINDINGS.schema, pa.field(_RUN, pa.struct(RUNS)), pa.field(_DAMAGE, pa.struct(RANGES))])


def _findings_and_runs(part: VerifyPart, projection: Projection) -> Iterator[pa.RecordBatch]:
    """All of one pass. A row has a finding, or a run of the account, or a range of damage."""
    runs = Runs()
    if (found := checked(part, projection, runs).batch()) is not None:
        yield _sent({name: found.column(name) for name in FINDINGS.schema.names}, len(found))
    if (batch := runs.batch()) is not None:
        yield _sent({_RUN: batch.to_struct_array()}, len(batch))
    if len(damage := Damages.joined(runs.damage)):
        yield _sent({_DAMAGE: damage.batch().to_struct_array()}, len(damage))


def _sent(columns: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([columns.get(field.name, pa.nulls(rows, field.type)) for field in _BOTH], schema=_BOTH)


def with_account(keep: Callable[[Account], object], keep_damage: Callable[[Damages], object] | None = None) -> Table[VerifyPart]:
    """The table `findings` whose read also makes the account. `keep` gets it at the end, if all was read.

    `keep_damage`: gets what is not a record, and the records with a wrong checksum.
    """

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runs, damage = list[pa.RecordBatch](), list[pa.RecordBatch]()
        yield from by_topic(_findings(batches, {_RUN: runs, _DAMAGE: damage}))
        keep(Account.of(joined(runs)))
        if keep_damage is not None:
            keep_damage(Damages.joined(map(Damages.from_batch, damage)).merged())

    both = {**FOUND, **{name: ColumnSpec(_BOTH.field(name).type, "") for name in (_RUN, _DAMAGE)}}
    return Table("findings", FOUND, parts_of_check, batches=_findings_and_runs, options=FINDINGS.options, merged=merge, of_parts=both)


def _findings(batches: Iterable[pa.RecordBatch], others: Mapping[str, list[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The findings. `others`: get what the rows of that column have."""
    for batch in batches:
        other = next((name for name in others if batch.column(name).null_count < len(batch)), None)
        if other is None:
            yield batch.select(FINDINGS.schema.names)
        else:
            others[other].append(pa.RecordBatch.from_struct_array(batch.column(other)))
