"""Findings in words."""

from pyspark.sql import Column
from pyspark.sql import functions as F

MINUTE, HOUR, DAY = 60, 3600, 86400  # seconds


def odd_hour() -> Column:
    """The sentence about an hour that was unlike others."""
    count, usual_count = _count(F.col("value")), _count(F.col("usual"))
    duration, usual_duration = _duration(F.col("value")), _duration(F.col("usual"))
    counts = F.concat(count, F.lit(" in the hour from "), _hour(), F.lit(", where "), usual_count, F.lit(" are usual."))
    durations = F.concat(
        duration, F.lit(" in the hour from "), _hour(), F.lit(", where "), usual_duration, F.lit(" is usual.")
    )
    return (
        F.when(_is("throughput"), F.concat(F.lit("Messages completed in "), _queue(), F.lit(": "), counts))
        .when(_is("failures"), F.concat(F.lit("Attempts that failed in "), _queue(), F.lit(": "), counts))
        .when(_is("deaths"), F.concat(F.lit("Messages that died in "), _queue(), F.lit(": "), counts))
        .when(_is("drops"), F.concat(F.lit("Messages dropped from "), _queue(), F.lit(": "), counts))
        .when(_is("waiting_time"), F.concat(F.lit("Of 20 messages of "), _queue(), F.lit(" one waited "), durations))
        .when(_is("working_time"), F.concat(F.lit("Of 20 messages of "), _queue(), F.lit(" one took "), durations))
        .when(_is("slow_consumer"), F.concat(F.lit("The client "), "client", F.lit(" took "), _typical(durations)))
    )


def unconsumed(hours: int) -> Column:
    rest = f" message(s) are in it, nobody reads it, and none was taken in the last {hours} hours."
    return F.concat(F.lit("Nobody consumes "), _queue(), F.lit(": "), _count(F.col("live")), F.lit(rest))


def paused() -> Column:
    return F.concat(_queue(), F.lit(" is paused, and "), _count(F.col("live")), F.lit(" message(s) are in it."))


def _is(kind: str) -> Column:
    return F.col("kind") == kind


def _typical(durations: Column) -> Column:
    return F.concat(F.lit("at the median "), durations)


def _queue() -> Column:
    """Its name, with its tags if it has any."""
    tags = F.concat(F.lit(" ["), F.concat_ws(", ", "queue_tags"), F.lit("]"))
    return F.concat("queue_name", F.when(F.size("queue_tags") > 0, tags).otherwise(F.lit("")))


def _hour() -> Column:
    return F.concat(
        F.date_format(F.to_utc_timestamp("bucket", F.current_timezone()), "yyyy-MM-dd HH:mm"), F.lit(" UTC")
    )


def _count(value: Column) -> Column:
    return F.format_number(value, 0)


def _duration(seconds: Column) -> Column:
    """In the unit in which a person would say it."""
    return (
        F.when(seconds < 1, F.format_string("%.0f ms", seconds * 1000))
        .when(seconds < 2 * MINUTE, F.format_string("%.1f s", seconds))
        .when(seconds < 2 * HOUR, F.format_string("%.1f min", seconds / MINUTE))
        .when(seconds < 2 * DAY, F.format_string("%.1f h", seconds / HOUR))
        .otherwise(F.format_string("%.1f days", seconds / DAY))
    )
