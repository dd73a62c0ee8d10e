"""The other tables of a store: what is wrong with its log, and how its segments are filled."""

from native_reader.tables.damage import DAMAGE
from native_reader.tables.segments import SEGMENTS

TABLES = {table.name: table for table in (DAMAGE, SEGMENTS)}
