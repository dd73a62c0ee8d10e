"""Spark types of the columns, and the check of a user's schema."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from native_reader.errors import OptionError, SchemaError, nearest
from native_reader.schema import COLUMNS, CORRUPT_RECORD, projected, schema_of
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
        raise SchemaError(f"table={table.name} comes with all its columns: leave .schema(...) out, and select after loading")


def names_of(schema: StructType, request: Request) -> tuple[str, ...]:
    """The columns of a user's schema. Names and types must match ours; the order is free."""
    corrupt_name = request.corrupt_name
    if request.asked_columns is not None and tuple(schema.names) != tuple(schema_of(request.names, corrupt_name).names):
        raise OptionError("columns= and .schema(...) ask for different columns: leave one of them out")
    if not schema.fields:
        raise SchemaError("the schema names no column. .schema('topic string') would do; df.count() counts rows of any columns")
    for field in schema.fields:
        _check(StructField(CORRUPT_RECORD, field.dataType, field.nullable) if field.name == corrupt_name else field)
    return projected(schema.names, corrupt_name if corrupt_name in schema.names else None)


def _check(field: StructField) -> None:
    if field.name not in COLUMNS:
        near = nearest(field.name, COLUMNS)
        typed = f"{near[:-1]} ({_type_of(near.split(chr(39))[1])})?" if near else ""
        raise SchemaError(f"column '{field.name}' does not exist.{typed} All columns: {', '.join(COLUMNS)}")
    wanted = _type_of(field.name)
    if field.dataType.simpleString() != wanted or spark_schema([field.name])[0].dataType != field.dataType:
        raise SchemaError(f"column '{field.name}' is {wanted}, the schema asks for {field.dataType.simpleString()}. Cast it after loading")
    if not field.nullable:
        raise SchemaError(f"column '{field.name}' may be null, the schema says NOT NULL. Leave that out")


def _type_of(name: str) -> str:
    return str(spark_schema([name])[0].dataType.simpleString())
