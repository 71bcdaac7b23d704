"""See tests/support/fixtures.py."""

from tests.support.fixtures import (
    broker,
    client,
    connect,
    connect_when_available,
    name,
    other,
    queue,
    service,
    start_cluster,
    three_nodes,
)

__all__ = [
    "broker",
    "client",
    "connect",
    "connect_when_available",
    "name",
    "other",
    "queue",
    "service",
    "start_cluster",
    "three_nodes",
]
