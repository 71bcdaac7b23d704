"""A PostgreSQL that runs, and does not do what is asked of it."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import psycopg

from faults.willow.troubles import Scene, Trouble

CUT_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'willow %%'"
KEPT_FOR_OTHERS = 3  # connections that superusers keep


@contextmanager
def backends_terminated(scene: Scene) -> Iterator[None]:
    scene.cluster.query(CUT_ALL)
    yield


@contextmanager
def no_connections_left(scene: Scene) -> Iterator[None]:
    """Others take every connection, then the brokers lose theirs."""
    with ExitStack() as taken, suppress(psycopg.OperationalError):
        control = taken.enter_context(scene.cluster.connect())
        while True:
            (free,) = control.execute(
                "SELECT current_setting('max_connections')::int - count(*) FROM pg_stat_activity"
                " WHERE backend_type = 'client backend'"
            ).fetchone() or (0,)
            if free <= KEPT_FOR_OTHERS:
                break
            taken.enter_context(scene.cluster.connect())
        control.execute(CUT_ALL)
        with suppress(psycopg.OperationalError):
            while True:
                taken.enter_context(scene.cluster.connect())
        yield
        return
    yield


@contextmanager
def messages_locked(scene: Scene) -> Iterator[None]:
    with scene.cluster.connect() as blocking, blocking.transaction():
        blocking.execute("LOCK TABLE delivery_message IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def queues_locked(scene: Scene) -> Iterator[None]:
    """Their rows and their counters: nothing can be posted or assigned."""
    with scene.cluster.connect() as blocking, blocking.transaction():
        blocking.execute("SELECT FROM queues_counter ORDER BY queue_id FOR UPDATE")
        blocking.execute("SELECT FROM queues_queue ORDER BY id FOR UPDATE")
        yield


@contextmanager
def long_transaction(scene: Scene) -> Iterator[None]:
    """A snapshot that keeps vacuum from removing anything."""
    with closing(scene.cluster.connect()) as reading:  # which ends it, also when its server has died meanwhile
        reading.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reading.execute("SELECT count(*) FROM delivery_journal")
        yield


STORAGE_TROUBLES = (
    Trouble("the brokers' backends terminated", "storage", backends_terminated, (0, 0)),
    Trouble("no connections left", "storage", no_connections_left, (2, 6)),
    Trouble("the message table locked", "storage", messages_locked, (3, 10)),
    Trouble("the queues' rows locked", "storage", queues_locked, (2, 6)),
    Trouble("a long transaction", "snapshot", long_transaction, (5, 15)),
)
