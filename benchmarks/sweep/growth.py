"""What can grow, and how a benchmark lets it: as clients do, or by copies of rows where clients would need days."""

from collections.abc import Callable
from dataclasses import dataclass

from psycopg import connect

from benchmarks.driven.broker import FILL_GROUP, DrivenBroker

QUEUE = "swept"
OTHER_QUEUE = "elsewhere"
LATER = 86_400  # seconds
SUBSCRIPTIONS_OF_EACH = 1_000
KEPT_BACK = 10  # delayed messages that keep a queue from ever being quite empty


@dataclass(frozen=True)
class Growth:
    """`grow(broker, count)` adds so many, `most` of them at most."""

    name: str
    grow: Callable[[DrivenBroker, int], None]
    most: int = 1_000_000


def _waiting(broker: DrivenBroker, count: int) -> None:
    broker.order("post", QUEUE, count, FILL_GROUP)


def _delayed(broker: DrivenBroker, count: int) -> None:
    broker.order("post", QUEUE, count, FILL_GROUP, delay=LATER)


def _claimed(broker: DrivenBroker, count: int) -> None:
    """By another client than the one whose commands are measured."""
    broker.order("post", QUEUE, count, FILL_GROUP)
    broker.order("fetch", QUEUE, count, FILL_GROUP, connection="holder")
    broker.order("let_go", connection="holder")


def _held_by_the_same(broker: DrivenBroker, count: int) -> None:
    broker.order("post", OTHER_QUEUE, count, FILL_GROUP)
    broker.order("fetch", OTHER_QUEUE, count, FILL_GROUP)
    broker.order("let_go")


def _ended(broker: DrivenBroker, count: int) -> None:
    """A backlog that was worked off, in a queue that is never quite empty; then the reaper does its duties."""
    broker.order("post", QUEUE, KEPT_BACK, KEPT_BACK, delay=LATER)
    broker.pass_through(QUEUE, count)
    broker.reap()


def _dedupe_values(broker: DrivenBroker, count: int) -> None:
    broker.order("post", QUEUE, count, FILL_GROUP, unique=["dedupe"], delay=LATER)


def _subscriptions(broker: DrivenBroker, count: int) -> None:
    """A connection may have a thousand; so there are as many connections as it takes."""
    for begin in range(0, count, SUBSCRIPTIONS_OF_EACH):
        size, name = min(SUBSCRIPTIONS_OF_EACH, count - begin), f"subscriber {count} {begin}"
        broker.order("subscribe", OTHER_QUEUE, size, FILL_GROUP, connection=name)


def _journal_rows(broker: DrivenBroker, count: int) -> None:
    broker.order("post", OTHER_QUEUE)
    broker.order("fetch", OTHER_QUEUE)
    broker.order("finish", OTHER_QUEUE)
    _copy_rows(broker, "delivery_journal", "'id', nextval(pg_get_serial_sequence('delivery_journal', 'id'))", count)


def _queues(broker: DrivenBroker, count: int) -> None:
    broker.order("create", OTHER_QUEUE)
    numbers = "nextval(pg_get_serial_sequence('queues_queue', 'id'))"
    _copy_rows(broker, "queues_queue", f"'id', {numbers}, 'name', 'copy-' || {numbers}", count)


def _sessions(broker: DrivenBroker, count: int) -> None:
    """Those of clients that have gone: their numbers are kept for a while."""
    numbers = "nextval(pg_get_serial_sequence('clients_session', 'id'))"
    gone = "'node_id', null, 'ended_at', now()"
    _copy_rows(broker, "clients_session", f"'id', {numbers}, 'token', md5(random()::text || {numbers}), {gone}", count)


def _copy_rows(broker: DrivenBroker, table: str, changed: str, count: int) -> None:
    """Copies of a row with some columns changed, whatever other columns the table has."""
    with connect(broker.database_url, autocommit=True) as connection:
        connection.execute(
            f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT copy.*"  # type: ignore[arg-type]
            f" FROM (SELECT original FROM {table} AS original LIMIT 1) AS one, generate_series(1, {count}) AS number,"
            f" jsonb_populate_record(one.original, jsonb_build_object({changed}, 'copy', number)) AS copy"
        )


GROWTHS = (
    Growth("ended", _ended),
    Growth("waiting", _waiting),
    Growth("claimed", _claimed),
    Growth("held", _held_by_the_same),
    Growth("delayed", _delayed),
    Growth("dedupe", _dedupe_values),
    Growth("journal", _journal_rows),
    Growth("queues", _queues),
    Growth("sessions", _sessions),
    Growth("subscriptions", _subscriptions, most=100_000),  # which one process must keep in its memory
)
