"""How unusual a value is against its own history: the robust z-score.

A value is compared with those of the same subject at about the same time of day (an hour before to an hour after,
UTC) on the days before. Of these the median says what is usual, and the median absolute deviation (MAD) how much
they vary. Neither is moved by a few wild days, as mean and standard deviation are.

    score = (value - median) / max(1.4826 MAD, floor)

1.4826 makes the MAD of normally distributed values their standard deviation. The floor keeps a queue that was
perfectly even from being conspicuous for a trifle: for counts it is 10 % of the median, its root (what pure chance
does) or 2, for durations 20 % of the median or 50 ms, whichever is more.
"""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

JUDGED_HOURS = 24  # the last complete hours
LEAST_HISTORY = 12  # values: four days of three hours each
SPREAD_OF_NORMAL = 1.4826


def last_complete_hour(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)


def judged(values: DataFrame, now: datetime) -> DataFrame:
    """Values (`subject`, `bucket`, `value`, `is_count`, and what else there is) of the judged hours, with what is
    `usual` at that time of day and the `score`. Those with too little history are left out."""
    last = last_complete_hour(now)
    first = last - timedelta(hours=JUDGED_HOURS - 1)
    known = values.where(F.col("value").isNotNull()).withColumn("hour", _hour_of_day())
    lately = known.where(F.col("bucket").between(F.lit(first), F.lit(last)))
    usual = _usual(known.where(F.col("bucket") < F.lit(first)))
    return (
        lately.join(usual, ["subject", "hour"])
        .withColumn("score", (F.col("value") - F.col("usual")) / _spread())
        .drop("hour", "mad")
    )


def _spread() -> Column:
    varied, usual = F.col("mad") * SPREAD_OF_NORMAL, F.col("usual")
    of_counts = F.greatest(varied, usual * 0.1, F.sqrt(usual), F.lit(2.0))
    of_durations = F.greatest(varied, usual * 0.2, F.lit(0.05))
    return F.when(F.col("is_count"), of_counts).otherwise(of_durations)


def _hour_of_day() -> Column:
    return F.pmod(F.call_function("div", F.unix_seconds("bucket"), F.lit(3600)), F.lit(24))


def _usual(history: DataFrame) -> DataFrame:
    """Median and MAD for each subject and hour of the day."""
    around = F.array(*(F.pmod(F.col("hour") + shift, F.lit(24)) for shift in (-1, 0, 1)))
    return (
        history.select("subject", "value", F.explode(around).alias("hour"))
        .groupBy("subject", "hour")
        .agg(F.array_sort(F.collect_list("value")).alias("values"))
        .where(F.size("values") >= LEAST_HISTORY)
        .withColumn("usual", _middle(F.col("values")))
        .withColumn("mad", _middle(F.array_sort(F.transform("values", lambda value: F.abs(value - F.col("usual"))))))
        .drop("values")
    )


def _middle(ascending: Column) -> Column:
    """The median of an array in order."""
    size = F.size(ascending)
    lower = F.call_function("div", size - 1, F.lit(2)).cast("int")
    upper = F.call_function("div", size, F.lit(2)).cast("int")
    return (F.get(ascending, lower) + F.get(ascending, upper)) / 2
