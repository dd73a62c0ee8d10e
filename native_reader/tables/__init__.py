"""The tables of a store besides its messages. The module of each is imported when the table is used: a read of messages needs none."""

from collections.abc import Iterator, MutableMapping
from typing import Any

from native_reader.tables.table import Table

_NAMES = (
    "damage",
    "segments",
    "topics",
    "queues",
    "queue_entries",
    "index_files",
    "index_entries",
    "consumer_offsets",
    "lag_by_tag",
    "config",
    "checkpoint",
    "epochs",
    "delay",
    "timers",
    "pop",
    "transactions",
    "dlq",
    "traces",
    "compacted",
    "duplicates",
    "findings",
    "account",
)


class _Tables(MutableMapping[str, Table[Any]]):
    def __init__(self) -> None:
        self._tables: dict[str, Table[Any] | None] = dict.fromkeys(_NAMES)

    def __getitem__(self, name: str) -> Table[Any]:
        table = self._tables[name]
        if table is None:
            table = self._tables[name] = _imported(name)
        return table

    def __setitem__(self, name: str, table: Table[Any]) -> None:
        self._tables[name] = table

    def __delitem__(self, name: str) -> None:
        del self._tables[name]

    def __contains__(self, name: object) -> bool:  # without an import
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _imported(name: str) -> Table[Any]:  # noqa: PLR0912  a case for each table
    """The table of that name."""
    match name:
        case "damage":
            from native_reader.tables.damage import DAMAGE

            return DAMAGE
        case "segments":
            from native_reader.tables.segments import SEGMENTS

            return SEGMENTS
        case "topics":
            from native_reader.tables.topics import TOPICS

            return TOPICS
        case "queues":
            from native_reader.tables.queues import QUEUES

            return QUEUES
        case "queue_entries":
            from native_reader.tables.queue_entries import QUEUE_ENTRIES

            return QUEUE_ENTRIES
        case "index_files":
            from native_reader.tables.index_entries import INDEX_FILES

            return INDEX_FILES
        case "index_entries":
            from native_reader.tables.index_entries import INDEX_ENTRIES

            return INDEX_ENTRIES
        case "consumer_offsets":
            from native_reader.tables.consumer_offsets import CONSUMER_OFFSETS

            return CONSUMER_OFFSETS
        case "lag_by_tag":
            from native_reader.tables.consumer_offsets import LAG_BY_TAG

            return LAG_BY_TAG
        case "config":
            from native_reader.tables.config import CONFIG

            return CONFIG
        case "checkpoint":
            from native_reader.tables.config import CHECKPOINT

            return CHECKPOINT
        case "epochs":
            from native_reader.tables.epochs import EPOCHS_TABLE

            return EPOCHS_TABLE
        case "delay":
            from native_reader.tables.delay import DELAY

            return DELAY
        case "timers":
            from native_reader.tables.timers import TIMERS

            return TIMERS
        case "pop":
            from native_reader.tables.pop import POP

            return POP
        case "transactions":
            from native_reader.tables.transactions import TRANSACTIONS

            return TRANSACTIONS
        case "dlq":
            from native_reader.tables.dlq import DLQ

            return DLQ
        case "traces":
            from native_reader.tables.traces import TRACES

            return TRACES
        case "compacted":
            from native_reader.tables.compacted import COMPACTED_MESSAGES

            return COMPACTED_MESSAGES
        case "duplicates":
            from native_reader.tables.duplicates import DUPLICATES

            return DUPLICATES
        case "findings":
            from native_reader.tables.findings import FINDINGS

            return FINDINGS
        case "account":
            from native_reader.tables.account import ACCOUNT

            return ACCOUNT
    raise KeyError(name)


TABLES: MutableMapping[str, Table[Any]] = _Tables()
TABLE_NAMES = ("messages", *_NAMES)
