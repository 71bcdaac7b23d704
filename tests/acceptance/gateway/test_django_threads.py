"""Requests over HTTP run in threads that stay, and keep their connections to PostgreSQL."""

from tests.support.cluster import PATIENCE, Cluster
from tests.support.scrapes import fetch
from willow_site.processes import wait_until
from willow_site.request_slots import SLOTS

CONNECTIONS = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = '' AND state = 'idle' ORDER BY pid
"""


def test_requests_share_a_connection(broker: Cluster) -> None:
    assert fetch(broker.node, "/api/queues/")[0] == 200
    kept = set(broker.query(CONNECTIONS))
    assert kept
    for _ in range(SLOTS * 2):
        assert fetch(broker.node, "/api/queues/")[0] == 200
    assert kept <= set(broker.query(CONNECTIONS)), "they were closed"
    assert len(broker.query(CONNECTIONS)) <= SLOTS


def test_a_connection_that_was_lost_is_replaced_before_a_request_meets_it(broker: Cluster) -> None:
    assert fetch(broker.node, "/api/queues/")[0] == 200
    lost = broker.query(CONNECTIONS)
    for (pid,) in lost:
        broker.query("SELECT pg_terminate_backend(%s)", pid)
    assert fetch(broker.node, "/api/queues/")[0] == 200
    assert wait_until(lambda: not set(lost) & set(broker.query(CONNECTIONS)), PATIENCE)
