"""The tables of a store besides its messages: the damage in its log, and its segments."""

from native_reader.tables.damage import DAMAGE
from native_reader.tables.segments import SEGMENTS

TABLES = {table.name: table for table in (DAMAGE, SEGMENTS)}
TABLE_NAMES = ("messages", *TABLES)
