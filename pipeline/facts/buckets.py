"""Buckets of time: the minute, the hour and the day (UTC) in which something happened."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.schemas import GRAINS

MICROSECONDS = {"minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}


def bucket_start(time: str, grain: str) -> Column:
    """By arithmetic, not by date_trunc, which goes by the time zone of the session."""
    micros = F.unix_micros(time)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(MICROSECONDS[grain])))


def day_of(time: str) -> Column:
    days = F.call_function("div", F.unix_micros(time), F.lit(MICROSECONDS["day"]))
    return F.date_from_unix_date(days.cast("int"))


def in_buckets(rows: DataFrame, time: str, grains: Sequence[str] = GRAINS) -> DataFrame:
    """Each row once for each grain, with `grain` and `bucket` by the given time."""
    buckets = [F.struct(F.lit(grain).alias("grain"), bucket_start(time, grain).alias("bucket")) for grain in grains]
    return rows.withColumn("_", F.explode(F.array(*buckets))).select("_.*", *rows.columns)
