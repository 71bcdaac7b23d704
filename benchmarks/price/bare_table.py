"""The least that storing a message can cost: one insert into a table with one index."""

from psycopg import Connection, connect

from benchmarks.driven.broker import BODY_BYTES
from benchmarks.driven.counters import Counters, Reading

TABLE = "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL)"
INSERT = "INSERT INTO bare (body) SELECT unnest(%s::bytea[]) RETURNING id"


class BareTable:
    def __init__(self, database_url: str, counters: Counters) -> None:
        self._counters = counters
        # The counters look at backends that are called as the broker's are.
        self._connection: Connection = connect(
            database_url, autocommit=True, prepare_threshold=0, application_name="willow bare table"
        )
        self._connection.execute(TABLE)

    def close(self) -> None:
        self._connection.close()

    def insert(self, count: int, group: int) -> Reading:
        bodies = [b"x" * BODY_BYTES] * group
        before = self._counters.read()
        for _ in range(count // group):
            self._connection.execute(INSERT, [bodies]).fetchall()
        return self._counters.read() - before
