"""Everything that a scenario plays on: a throwaway PostgreSQL, a broker and a process for the clients."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Concatenate, LiteralString, ParamSpec, TypeVar

import psycopg
import willow_client

from benchmarks.broker_process import BrokerProcess
from benchmarks.load_process import LoadProcess
from benchmarks.profiling import Profile
from benchmarks.raw import fill, pass_through
from willow_site.embedded.postgres import throwaway_postgres

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

MESSAGES_GO: LiteralString = (
    "TRUNCATE delivery_message, delivery_endedcount, delivery_pendingnotice, delivery_journal;"
    "INSERT INTO delivery_endedcount SELECT queue_id, 0, newest_index FROM queues_counter"
)


@dataclass
class Stage:
    database_url: str
    broker: BrokerProcess
    load: LoadProcess
    profile: Profile | None = None

    def on_broker(
        self,
        load: Callable[Concatenate[str, Parameters], Awaitable[Result]],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Run clients of the broker, whose address they get, and wait for what they found."""
        with self.profile.watching(self.broker, self._message_counts) if self.profile else nullcontext():
            return self.load.run(load, self.broker.url, *arguments, **named)

    def on_postgres(
        self,
        load: Callable[Concatenate[str, Parameters], Awaitable[Result]],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """The same with clients of PostgreSQL itself."""
        return self.load.run(load, self.database_url, *arguments, **named)

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
        self.on_postgres(fill, queue_id, messages=messages, body_size=body_size)

    def pass_through(self, queue_id: int, *, messages: int, body_size: int) -> None:
        """Post messages to a queue, claim and finish them, without the broker."""
        self.on_postgres(pass_through, queue_id, messages=messages, body_size=body_size)

    def begin_scenario(self, profile: Profile | None) -> None:
        """A new broker on empty tables, with what was written before on disk."""
        self.profile = profile
        self.broker.stop()
        self.clear()
        self.execute("CHECKPOINT")
        self.broker.start()

    def _message_counts(self) -> tuple[int, int]:
        """How many messages were posted and how many have ended."""
        (counts,) = self.rows(
            "SELECT (SELECT coalesce(sum(newest_index), 0)::bigint FROM queues_counter), count(*) FROM delivery_journal"
        )
        posted, ended = counts
        return posted, ended


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
