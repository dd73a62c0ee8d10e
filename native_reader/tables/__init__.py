"""The tables of a store besides its messages."""

from native_reader.tables.damage import DAMAGE
from native_reader.tables.index_entries import INDEX_ENTRIES
from native_reader.tables.index_files import INDEX_FILES
from native_reader.tables.queue_entries import QUEUE_ENTRIES
from native_reader.tables.queues import QUEUES
from native_reader.tables.segments import SEGMENTS
from native_reader.tables.topics import TOPICS

TABLES = {table.name: table for table in (DAMAGE, SEGMENTS, TOPICS, QUEUES, QUEUE_ENTRIES, INDEX_FILES, INDEX_ENTRIES)}
TABLE_NAMES = ("messages", *TABLES)
