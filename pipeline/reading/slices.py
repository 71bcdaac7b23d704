"""Which rows of the journal are read together: slices of settled transactions, each cut into bounded statements.

Slices go by the transaction that wrote a row, never by its id. Ids become visible out of order: a reader that
remembers the highest id loses the rows of a transaction that took lower ids and committed later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from pipeline.database import Connection
from pipeline.options import Options

# The transaction of the row that is `rows` further on: an index-only walk along the journal's index on `tx`.
END_OF_SLICE = """
    SELECT tx::text::bigint FROM willow_journal_v2
    WHERE tx >= %(first)s::text::xid8 AND tx < %(past)s::text::xid8
      AND (%(since)s::timestamptz IS NULL OR ended_at >= %(since)s)
      AND (%(until)s::timestamptz IS NULL OR ended_at < %(until)s)
    ORDER BY tx OFFSET %(rows)s LIMIT 1
"""

# Cuts a slice where so many rows, or so many bytes of bodies, have come together. A transaction is never cut.
CUTS = """
    WITH per_tx AS (
        SELECT tx::text::bigint AS tx, count(*) AS rows, coalesce(sum(octet_length(body)), 0) AS bytes
        FROM willow_journal_v2
        WHERE tx >= %(first)s::text::xid8 AND tx < %(past)s::text::xid8
          AND (%(since)s::timestamptz IS NULL OR ended_at >= %(since)s)
          AND (%(until)s::timestamptz IS NULL OR ended_at < %(until)s)
        GROUP BY 1
    ), running AS (
        SELECT tx, rows,
               div(sum(rows) OVER earlier - rows, %(rows)s) + div(sum(bytes) OVER earlier - bytes, %(bytes)s) AS cut
        FROM per_tx
        WINDOW earlier AS (ORDER BY tx ROWS UNBOUNDED PRECEDING)
    )
    SELECT min(tx), max(tx) + 1, sum(rows)::bigint FROM running GROUP BY cut ORDER BY cut
"""


@dataclass(frozen=True)
class Cut:
    """Transactions from `first` up to and without `past`: what one statement reads."""

    first: int
    past: int
    rows: int


@dataclass(frozen=True)
class Slice:
    first: int
    past: int
    cuts: tuple[Cut, ...]
    day: date | None = None  # if only the rows of one day are meant

    @property
    def rows(self) -> int:
        return sum(cut.rows for cut in self.cuts)

    @property
    def largest(self) -> int:
        """Most rows that one statement reads."""
        return max((cut.rows for cut in self.cuts), default=0)

    def predicates(self) -> list[str]:
        """One condition for each statement, in the words of the index on `tx`."""
        of_day = ""
        if self.day:
            of_day = (
                f" AND ended_at >= '{self.day}T00:00:00Z' AND ended_at < '{self.day + timedelta(days=1)}T00:00:00Z'"
            )
        return [f"tx >= '{cut.first}'::xid8 AND tx < '{cut.past}'::xid8{of_day}" for cut in self.cuts]


def slices(connection: Connection, first: int, past: int, options: Options, day: date | None = None) -> Iterator[Slice]:
    """All settled rows from transaction `first` up to and without `past`, in slices; empty slices are left out."""
    while first < past:
        end = _end_of_slice(connection, first, past, options.slice_rows, day)
        cuts = _cuts(connection, first, end, options, day)
        if cuts:
            yield Slice(first, end, cuts, day)
        first = end


def _end_of_slice(connection: Connection, first: int, past: int, rows: int, day: date | None) -> int:
    parameters = {"first": first, "past": past, "rows": rows, **_day_bounds(day)}
    with connection.transaction():
        connection.execute("SET LOCAL enable_seqscan = off")  # or it sorts all that is there to take a little
        connection.execute("SET LOCAL enable_sort = off")
        row = connection.execute(END_OF_SLICE, parameters).fetchone()
    return past if row is None else max(int(row[0]), first + 1)


def _cuts(connection: Connection, first: int, past: int, options: Options, day: date | None) -> tuple[Cut, ...]:
    parameters = {
        "first": first,
        "past": past,
        "rows": options.partition_rows,
        "bytes": options.partition_bytes,
        **_day_bounds(day),
    }
    return tuple(Cut(*row) for row in connection.execute(CUTS, parameters).fetchall())


def _day_bounds(day: date | None) -> dict[str, str | None]:
    if day is None:
        return {"since": None, "until": None}
    return {"since": f"{day}T00:00:00Z", "until": f"{day + timedelta(days=1)}T00:00:00Z"}
