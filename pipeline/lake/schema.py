"""Spark's schemas in the words of Iceberg. All fields are optional: Spark writes them so."""

from itertools import count

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)
from pyspark.sql.types import StructType

TYPES: dict[str, IcebergType] = {
    "bigint": LongType(),
    "int": IntegerType(),
    "string": StringType(),
    "boolean": BooleanType(),
    "double": DoubleType(),
    "timestamp": TimestamptzType(),
    "date": DateType(),
    "binary": BinaryType(),
}


def iceberg_schema(schema: StructType) -> Schema:
    """With the numbers that Iceberg gives to the fields of a new table."""
    numbers = count(1)
    fields = (
        NestedField(next(numbers), field.name, iceberg_type(field.dataType.simpleString(), next(numbers)))
        for field in schema
    )
    return assign_fresh_schema_ids(Schema(*fields))


def iceberg_type(spark_type: str, element_id: int) -> IcebergType:
    if spark_type == "array<string>":
        return ListType(element_id, StringType(), element_required=False)
    return TYPES[spark_type]
