"""`willow_post` beside a plain insert into a table with one index: what a call costs inside of a transaction."""

import secrets
import time

import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.broker_process import BrokerProcess

CALLS = 100  # in a transaction
BODY = b"x" * 100
TABLE = (
    "CREATE TABLE IF NOT EXISTS bench_plain"
    " (id bigserial PRIMARY KEY, body bytea, written_at timestamptz DEFAULT now())"
)
INSERT = "INSERT INTO bench_plain (body) VALUES (%s)"
POST = "SELECT willow_post('bench.transactional', %s::bytea)"


ROLE = "bench_shop"


def prepare(broker: BrokerProcess) -> str:
    """Returns the database's URL for a role of an application, which was granted the queue."""
    password = secrets.token_hex(16)
    with psycopg.connect(broker.database_url, autocommit=True) as connection:
        connection.execute(TABLE)
        connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{password}'")
    broker.output_of("post_role", "grant", ROLE, "--queues", "bench.*")
    return make_conninfo(broker.database_url, user=ROLE, password=password)


def microseconds(database_url: str, statement: str, seconds: float) -> float:
    """Of one call. The commit is not counted: it is the same for both, and many times as long."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        spent, calls = 0.0, 0
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            with connection.transaction():
                began = time.perf_counter()
                for _ in range(CALLS):
                    connection.execute(statement, [BODY], prepare=True)
                spent += time.perf_counter() - began
            calls += CALLS
        return spent / calls * 1e6
