"""One checksum for a set of rows, the same from PostgreSQL and from Spark, whatever their order.

A row is put into words, the words hashed, and 60 bits of the hashes added up. `tx` is left out: it means something
only on the server that wrote it. `extras` are left out where there are none, as in all rows that are older than they.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

NOTHING = "~"
HEX_DIGITS = 15

IN_POSTGRES = f"""
    sum(('x' || left(md5(concat_ws('|',
        id, queue_id, queue_name, array_to_string(queue_tags, ','), index, outcome, coalesce(reason, '{NOTHING}'),
        attempt, priority, coalesce(poster::text, '{NOTHING}'), coalesce(holder::text, '{NOTHING}'),
        coalesce(client, '{NOTHING}'), coalesce(node, '{NOTHING}'),
        (extract(epoch FROM posted_at) * 1000000)::bigint,
        coalesce(((extract(epoch FROM assigned_at) * 1000000)::bigint)::text, '{NOTHING}'),
        (extract(epoch FROM ended_at) * 1000000)::bigint,
        size, coalesce(error, '{NOTHING}'), coalesce(md5(body), '{NOTHING}'), extras
    )), {HEX_DIGITS}))::bit(60)::bigint)
"""


def in_spark() -> Column:
    words = F.concat_ws(
        "|",
        *map(_text, ("id", "queue_id", "queue_name")),
        F.concat_ws(",", "queue_tags"),
        *map(_text, ("index", "outcome", "reason", "attempt", "priority", "poster", "holder", "client", "node")),
        *map(_micros, ("posted_at", "assigned_at", "ended_at")),
        *map(_text, ("size", "error")),
        F.coalesce(F.md5("body"), F.lit(NOTHING)),
        F.col("extras"),
    )
    digits = F.substring(F.md5(words), 1, HEX_DIGITS)
    return F.sum(F.conv(digits, 16, 10).cast("decimal(38,0)"))


def _text(column: str) -> Column:
    return F.coalesce(F.col(column).cast("string"), F.lit(NOTHING))


def _micros(column: str) -> Column:
    return F.coalesce(F.unix_micros(column).cast("string"), F.lit(NOTHING))
