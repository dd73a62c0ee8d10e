"""The checked options of planning: for messages, tables, exports and streams."""

from __future__ import annotations

from dataclasses import dataclass

from native_reader.log.tail import AVAILABLE
from native_reader.plan.ways import AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """The defaults are those of the options.

    `time_skew_tolerance`: how far store times may step back, in microseconds. `lenient`: damage does not stop the read.
    `summary`: its folder. `returned`: the columns that are wanted, if nothing else of a record is looked at; None: not known.
    `tiered`: the tier of each store is read too. `compares`: records are compared with the entries that name them.
    `in_order`: rows come in the order of the log; otherwise those that an index names are first.
    """

    access: str = AUTO
    summary: str | None = None
    returned: frozenset[str] | None = None
    tail: str = AVAILABLE
    max_partition_bytes: int = 128 << 20
    min_partitions: int = 1
    max_record_bytes: int = 64 << 20
    time_skew_tolerance: int = 60_000_000
    max_hash_slot_num: int | None = None
    lenient: bool = False
    compares: bool = False
    fail_on_data_loss: bool = True
    tiered: bool = False
    in_order: bool = False
    tiered_store_file_path: str | None = None
