"""The last step of every transform: exactly the columns of its schema, in their order and with their types."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType


def conforming(facts: DataFrame, schema: StructType) -> DataFrame:
    return facts.select(*(F.col(field.name).cast(field.dataType).alias(field.name) for field in schema.fields))
