"""Everything that a scenario plays on: a throwaway PostgreSQL, a broker and a process for the clients."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, LiteralString

import psutil
import psycopg
import willow_client

from benchmarks.broker_process import BrokerProcess
from benchmarks.load_process import LoadProcess
from benchmarks.raw import fill, pass_through
from willow_site.embedded.postgres import throwaway_postgres

MESSAGES_GO: LiteralString = (
    "TRUNCATE delivery_message, delivery_freesequences, delivery_pendingnotice, delivery_journal"
)


@dataclass
class Stage:
    database_url: str
    broker: BrokerProcess
    load: LoadProcess

    def execute(self, query: LiteralString) -> None:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(query)

    def rows(self, query: LiteralString, *parameters: Any) -> list[Any]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return connection.execute(query, parameters).fetchall()

    def clear(self) -> None:
        """Remove all messages, so that each measurement begins with empty tables."""
        self.execute(MESSAGES_GO)

    def define(self, queue: str) -> int:
        """Make a queue, as the broker does; returns its number."""
        return self.load.run(_define, self.broker.url, queue)

    def lay_out(self, queue_id: int, *, messages: int, body_size: int) -> None:
        """Begin with that many messages in one queue and none in the others."""
        self.clear()
        self.fill(queue_id, messages=messages, body_size=body_size)

    def fill(self, queue_id: int, *, messages: int, body_size: int) -> None:
        self.load.run(fill, self.database_url, queue_id, messages=messages, body_size=body_size)

    def pass_through(self, queue_id: int, *, messages: int, body_size: int) -> None:
        """Post messages to a queue, claim and finish them, without the broker."""
        self.load.run(pass_through, self.database_url, queue_id, messages=messages, body_size=body_size)

    def begin_scenario(self) -> None:
        """A new broker on empty tables, with what was written before on disk."""
        self.broker.stop()
        self.clear()
        self.execute("CHECKPOINT")
        self.broker.start()

    def postgres_cpu_seconds(self) -> float:
        """Of all processes of the server; those that ended are counted with their parent."""
        (postmaster_pid,) = self.rows("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int")[0]
        total = 0.0
        postmaster = psutil.Process(postmaster_pid)
        for process in (postmaster, *postmaster.children()):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return total


@contextmanager
def stage() -> Iterator[Stage]:
    with ExitStack() as stack:
        database_url = stack.enter_context(throwaway_postgres())
        broker = BrokerProcess(database_url)
        stack.callback(broker.remove)
        broker.migrate()
        load = stack.enter_context(LoadProcess())
        prepared = Stage(database_url, broker, load)
        prepared.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        yield prepared


async def _define(url: str, queue: str) -> int:
    async with willow_client.connect(url) as client:
        return (await client.create(queue)).shard
