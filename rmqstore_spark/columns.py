"""Spark types of the columns, and the check of a user's schema."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from native_reader.columns.schema import COLUMNS, CORRUPT_RECORD, projected, schema_of
from native_reader.errors import OptionError, SchemaError, nearest
from native_reader.tables.table import Table
from rmqstore_spark.request import Request


def spark_schema(names: Iterable[str], corrupt_name: str | None = None) -> StructType:
    """The Spark schema of these columns, all nullable."""
    return from_arrow_schema(schema_of(names, corrupt_name))


def schema_of_table(table: Table) -> StructType:
    """The Spark schema of a table other than `messages`."""
    return from_arrow_schema(table.schema)


def check_schema_of_table(schema: StructType, table: Table) -> None:
    """Reject any schema except the table's own: these tables are small and always have all columns."""
    if schema != schema_of_table(table):
        raise SchemaError(f"table={table.name} always has all its columns. Omit .schema(...), and select columns after loading")


def names_of(schema: StructType, request: Request) -> tuple[str, ...]:
    """The columns of a user's schema. Names and types must match ours; the order is free."""
    corrupt_name = request.corrupt_name
    if request.options.columns is not None and tuple(schema.names) != tuple(request.projection.schema.names):
        raise OptionError("columns= and .schema(...) request different columns. Omit one of them")
    if not schema.fields:
        raise SchemaError("the schema has no columns. Use at least one: .schema('topic string'); df.count() works with any column")
    for field in schema.fields:
        _check(StructField(CORRUPT_RECORD, field.dataType, field.nullable) if field.name == corrupt_name else field)
    return projected(schema.names, corrupt_name if corrupt_name in schema.names else None)


def _check(field: StructField) -> None:
    if field.name not in COLUMNS:
        near = nearest(field.name, COLUMNS)
        hint = "" if near is None else f" Did you mean '{near}' ({_type_of(near)})?"
        raise SchemaError(f"column '{field.name}' does not exist.{hint} All columns: {', '.join(COLUMNS)}")
    wanted = _type_of(field.name)
    if field.dataType.simpleString() != wanted or spark_schema([field.name])[0].dataType != field.dataType:
        raise SchemaError(f"column '{field.name}' is {wanted}, but the schema has {field.dataType.simpleString()}. Cast it after loading")
    if not field.nullable:
        raise SchemaError(f"column '{field.name}' can be null, but the schema has NOT NULL. Omit NOT NULL")


def _type_of(name: str) -> str:
    return str(spark_schema([name])[0].dataType.simpleString())
