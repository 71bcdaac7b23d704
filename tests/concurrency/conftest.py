"""See tests/brokers/fixtures.py."""

from tests.brokers.fixtures import broker, client, connect, other, queue, start_cluster

__all__ = ["broker", "client", "connect", "other", "queue", "start_cluster"]
