"""The tables of a store besides its messages."""

from collections.abc import Mapping
from typing import Any

from native_reader.tables.account import ACCOUNT
from native_reader.tables.compacted import COMPACTED_MESSAGES
from native_reader.tables.config import CHECKPOINT, CONFIG
from native_reader.tables.consumer_offsets import CONSUMER_OFFSETS, LAG_BY_TAG
from native_reader.tables.damage import DAMAGE
from native_reader.tables.delay import DELAY
from native_reader.tables.dlq import DLQ
from native_reader.tables.duplicates import DUPLICATES
from native_reader.tables.epochs import EPOCHS_TABLE
from native_reader.tables.findings import FINDINGS
from native_reader.tables.index_entries import INDEX_ENTRIES, INDEX_FILES
from native_reader.tables.pop import POP
from native_reader.tables.queue_entries import QUEUE_ENTRIES
from native_reader.tables.queues import QUEUES
from native_reader.tables.segments import SEGMENTS
from native_reader.tables.table import Table
from native_reader.tables.timers import TIMERS
from native_reader.tables.topics import TOPICS
from native_reader.tables.traces import TRACES
from native_reader.tables.transactions import TRANSACTIONS

_ALL = (
    DAMAGE,
    SEGMENTS,
    TOPICS,
    QUEUES,
    QUEUE_ENTRIES,
    INDEX_FILES,
    INDEX_ENTRIES,
    CONSUMER_OFFSETS,
    LAG_BY_TAG,
    CONFIG,
    CHECKPOINT,
    EPOCHS_TABLE,
    DELAY,
    TIMERS,
    POP,
    TRANSACTIONS,
    DLQ,
    TRACES,
    COMPACTED_MESSAGES,
    DUPLICATES,
    FINDINGS,
    ACCOUNT,
)
TABLES: Mapping[str, Table[Any]] = {table.name: table for table in _ALL}
TABLE_NAMES = ("messages", *TABLES)
