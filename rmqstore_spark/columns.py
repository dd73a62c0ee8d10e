"""Spark types of the columns, and the check of a user's schema."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from native_reader.columns.schema import COLUMNS, CORRUPT_RECORD, projected, schema_of
from native_reader.errors import OptionError, SchemaError, nearest
from rmqstore_spark.request import LoadRequest


def spark_schema(names: Iterable[str], corrupt_name: str | None = None) -> StructType:
    """The Spark schema of these columns, all nullable."""
    return from_arrow_schema(schema_of(names, corrupt_name))


def schema_of_table(request: LoadRequest) -> StructType:
    """The Spark schema of the selected columns of a table other than `messages`."""
    assert request.selection is not None
    return from_arrow_schema(request.other().schema_of(request.selection.columns))


def names_of_table(schema: StructType, request: LoadRequest) -> tuple[str, ...]:
    """The columns of a user's schema for a table other than `messages`."""
    assert request.selection is not None
    _refuse_two_choices(schema, request, request.selection.columns)
    for field in schema.fields:
        _check(field, from_arrow_schema(request.other().schema))
    return request.other().names_of(schema.names)


def names_of(schema: StructType, request: LoadRequest) -> tuple[str, ...]:
    """The columns of a user's schema. Names and types must match ours; the order is free."""
    corrupt_name = request.corrupt_name
    _refuse_two_choices(schema, request, request.projection.schema.names)
    known = spark_schema(COLUMNS)
    for field in schema.fields:
        _check(StructField(CORRUPT_RECORD, field.dataType, field.nullable) if field.name == corrupt_name else field, known)
    return projected(schema.names, corrupt_name if corrupt_name in schema.names else None)


def _refuse_two_choices(schema: StructType, request: LoadRequest, chosen: Iterable[str]) -> None:
    """Reject a schema that contradicts the option `columns`, and one without columns."""
    if request.options.columns is not None and tuple(schema.names) != tuple(chosen):
        raise OptionError("columns= and .schema(...) request different columns. Omit one of them")
    if not schema.fields:
        name = "topic string" if request.selection is None else "store string"
        raise SchemaError(f"the schema has no columns. Use at least one: .schema('{name}'); df.count() works with any column")


def _check(field: StructField, known: StructType) -> None:
    types = {each.name: each.dataType for each in known}
    if field.name not in types:
        near = nearest(field.name, types)
        hint = "" if near is None else f" Did you mean '{near}' ({types[near].simpleString()})?"
        raise SchemaError(f"column '{field.name}' does not exist.{hint} All columns: {', '.join(types)}")
    wanted = types[field.name]
    if field.dataType != wanted:
        given = field.dataType.simpleString()
        raise SchemaError(f"column '{field.name}' is {wanted.simpleString()}, but the schema has {given}. Cast it after loading")
    if not field.nullable:
        raise SchemaError(f"column '{field.name}' can be null, but the schema has NOT NULL. Omit NOT NULL")
