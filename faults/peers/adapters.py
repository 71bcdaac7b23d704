"""Which peers there are, and how each is started and reached."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from faults.peers import PeerConnection, PeerServer, pgmq, procrastinate, rabbitmq, valkey_streams

Connect = Callable[[str, str], Awaitable[PeerConnection]]


@dataclass(frozen=True, slots=True)
class Adapter:
    serve: Callable[[Path], PeerServer]
    connect: Connect
    needs_packages: bool = False  # that Willow does not need
    gives_on_at_disconnects: bool = False  # claims end with their connection, and not with time


ADAPTERS = {
    pgmq.NAME: Adapter(pgmq.PgmqServer, pgmq.connect),
    valkey_streams.NAME: Adapter(valkey_streams.StreamServer, valkey_streams.connect),
    rabbitmq.NAME: Adapter(rabbitmq.RabbitServer, rabbitmq.connect, needs_packages=True, gives_on_at_disconnects=True),
    procrastinate.NAME: Adapter(procrastinate.ProcrastinateServer, procrastinate.connect, needs_packages=True),
}
