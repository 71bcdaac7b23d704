"""Rows of the journal over JDBC, and the check at the border that they have the shape we know."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.database import jdbc_options
from pipeline.errors import PipelineError
from pipeline.options import Options
from pipeline.reading.slices import Slice
from pipeline.schemas import JOURNAL, QUEUES

# A transaction is never cut. One that wrote very many rows (those of a restored day share a few) is read by a cursor.
MOST_ROWS_AT_ONCE = 100_000
FETCH_ROWS = 10_000

# `tx` stays as it is, for the conditions to find its index; Spark gets it as a number.
SOURCE = "(SELECT *, tx::text::bigint AS tx_number FROM willow_journal_v2) AS journal"


def read_slice(spark: SparkSession, slice_: Slice, options: Options) -> DataFrame:
    """The rows of a slice: one statement, one connection and one short snapshot for each of its cuts."""
    properties = jdbc_options(options.read_url)
    if slice_.largest > MOST_ROWS_AT_ONCE:
        properties["fetchsize"] = str(FETCH_ROWS)
    rows = spark.read.jdbc(properties.pop("url"), SOURCE, predicates=slice_.predicates(), properties=properties)
    rows = rows.drop("tx").withColumnRenamed("tx_number", "tx")
    return conformed(rows, JOURNAL, "willow_journal_v2")


def read_queues(spark: SparkSession, options: Options) -> DataFrame:
    return read_table(spark, options, "willow_queues_v1", QUEUES)


def read_table(spark: SparkSession, options: Options, source: str, schema: StructType) -> DataFrame:
    """A small table or subquery, in one statement."""
    rows = spark.read.format("jdbc").options(**jdbc_options(options.read_url), dbtable=source).load()
    return conformed(rows, schema, source)


def conformed(rows: DataFrame, schema: StructType, source: str) -> DataFrame:
    """The columns of the schema, in its order. More columns than we know are left aside; fewer, or others, are not.

    A missing column that may be null reads as null, so that a pipeline can be newer than the database.
    """
    found = {field.name: field.dataType for field in rows.schema}
    columns = []
    for field in schema:
        if field.name not in found and field.nullable:
            columns.append(F.lit(None).cast(field.dataType).alias(field.name))
            continue
        if field.name not in found:
            raise PipelineError(f"{source} has no column {field.name}.", "Run `./willow manage migrate`.")
        if found[field.name].simpleString() != field.dataType.simpleString():
            raise PipelineError(
                f"The column {field.name} of {source} is {found[field.name].simpleString()}, "
                f"but {field.dataType.simpleString()} was expected.",
                "The pipeline and the database are of different versions: run both from the same checkout.",
            )
        columns.append(F.col(field.name))
    return rows.select(*columns)
