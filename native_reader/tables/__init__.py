"""The other tables of a store: the damage in its log, and its segments."""

from native_reader.tables.damage import DAMAGE
from native_reader.tables.segments import SEGMENTS

TABLES = {table.name: table for table in (DAMAGE, SEGMENTS)}
