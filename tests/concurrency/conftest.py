"""See tests/brokers/fixtures.py."""

from tests.brokers.fixtures import broker, client, connect, name, other, queue, start_cluster, three_nodes

__all__ = ["broker", "client", "connect", "name", "other", "queue", "start_cluster", "three_nodes"]
