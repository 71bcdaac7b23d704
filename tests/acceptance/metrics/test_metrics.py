"""/metrics of real brokers, read with Prometheus' own parser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster, WillowProcess
from tests.support.fixtures import Connect, StartCluster
from tests.support.scrapes import Scrape, fetch, scrape, wait_for_reaper
from tests.support.workers import working
from willow_site.embedded.valkey import throwaway_valkey
from willow_site.launcher.service_checks import BROKER_CONNECTIONS
from willow_site.processes import wait_until
from willow_site.project_folder import PROJECT_FOLDER

NO_CACHE = {"WILLOW_METRICS_SECONDS": "0.1"}


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """Whose figures are nobody else's doing."""
    with start_cluster(reaper=True, **NO_CACHE, WILLOW_METRICS_QUEUES="3") as cluster:
        wait_for_reaper(cluster)
        yield cluster


@pytest.fixture
async def client(cluster: Cluster, connect: Connect) -> Client:
    return await connect(cluster.node)


def fresh_scrape(cluster: Cluster, name: str, expected: float, **labels: str) -> Scrape:
    """The first scrape with this value: figures of the database may be a moment old."""
    found: list[Scrape] = []

    def seen() -> bool:
        found.append(scrape(cluster.node))
        return found[-1].value(name, **labels) == expected

    assert wait_until(seen, PATIENCE), found[-1].text
    return found[-1]


# counted by the process


async def test_messages_are_counted_by_what_became_of_them(cluster: Cluster, client: Client, queue: str) -> None:
    before = scrape(cluster.node)
    await client.create(queue, retry_limit=2, retry_delay=0)
    await client.post_all(queue, ["1", "2", "3", "4"])
    await client.pop(queue)
    await client.finish(await client.fetch(queue))
    for _ in range(2):
        await client.fail(await client.fetch(queue))
    waiting = await client.begin_waiting("pop", f"{queue}-fast", timeout=60)
    await client.begin("post", f"{queue}-fast", message="straight", notify=["finish"])
    await client.expect(waiting, body="straight")
    after = scrape(cluster.node)
    moved = {
        move: after.value("willow_messages_total", move=move) - before.value("willow_messages_total", move=move)
        for move in ("posted", "popped", "claimed", "finished", "retried", "dead", "handed_over", "dropped")
    }
    assert moved == {
        "posted": 4,
        "popped": 1,
        "claimed": 3,
        "finished": 1,
        "retried": 1,
        "dead": 1,
        "handed_over": 1,
        "dropped": 0,
    }


async def test_what_a_full_queue_drops_is_counted(cluster: Cluster, client: Client, queue: str) -> None:
    before = scrape(cluster.node).value("willow_messages_total", move="dropped")
    await client.create(queue, max_length=1, overflow="drop_oldest")
    await client.post_all(queue, ["1", "2"])
    assert scrape(cluster.node).value("willow_messages_total", move="dropped") == before + 1


async def test_batches_have_sizes_and_times(cluster: Cluster, client: Client, queue: str) -> None:
    labels = {"lane": "posts", "kind": "post"}
    before = scrape(cluster.node)
    await client.post_all(queue, [str(number) for number in range(40)])
    after = scrape(cluster.node)

    def grown(name: str, **more: str) -> float:
        return after.value(name, **labels, **more) - before.value(name, **labels, **more)

    assert grown("willow_batch_size_sum") == 40
    assert 1 <= grown("willow_batch_size_count") < 40  # they share statements
    assert grown("willow_batch_seconds_count") == grown("willow_batch_size_count")
    assert grown("willow_batch_seconds_sum") > 0
    for name in ("willow_batch_size", "willow_batch_seconds"):
        buckets = [value for _, value in after.all(f"{name}_bucket", **labels)]
        assert buckets == sorted(buckets)
        assert buckets[-1] == after.value(f"{name}_count", **labels)


async def test_sockets_workers_and_refusals(cluster: Cluster, connect: Connect, client: Client, service: str) -> None:
    before = fresh_scrape(cluster, "willow_sockets", 1)  # that of the last test may be on its way out
    worker = await working(await connect(cluster.node), service)
    await client.send({"type": "no such command"})
    await client.expect(None, code="BadRequest")
    after = scrape(cluster.node)
    for name, more in {"willow_sockets": 1, "willow_sockets_opened_total": 1, "willow_workers_here": 1}.items():
        assert after.value(name) == before.value(name) + more, name
    bad = {"code": "BadRequest"}
    assert after.value("willow_refusals_total", **bad) == before.value("willow_refusals_total", **bad) + 1
    await worker.client.close()


async def test_every_sample_of_a_process_names_its_node(cluster: Cluster) -> None:
    found = scrape(cluster.node)
    for name in ("willow_messages_total", "willow_sockets", "willow_lane_connected", "process_cpu_seconds_total"):
        assert {labels["node"] for labels, _ in found.all(name)} == {cluster.node.name}
    assert [value for _, value in found.all("willow_lane_connected")] == [1.0] * BROKER_CONNECTIONS


# read from the database


async def test_a_queue_has_its_own_figures(cluster: Cluster, client: Client) -> None:
    name = 'odd "name" \\ here'
    many = [str(number) for number in range(1000)]  # more than any other queue of these tests
    await client.create(name, tags=["b", "a"])
    await client.post_all(name, many, tags=["a", "b"])
    held = await client.fetch(name)
    await client.finish(held)
    await client.fetch(name)
    await client.begin("post", name, tags=["a", "b"], message="later", delay=600)
    labels = {"queue": name, "tags": "a,b"}
    found = fresh_scrape(cluster, "willow_queue_delayed", 1, **labels)
    assert found.value("willow_queue_ready", **labels) == len(many) - 2
    assert found.value("willow_queue_in_flight", **labels) == 1
    assert found.value("willow_queue_posted_total", **labels) == len(many) + 1
    assert found.value("willow_queue_ended_total", **labels) == 1
    assert found.value("willow_queue_oldest_seconds", **labels) > 0
    fresh_scrape(cluster, "willow_queue_consumers", 1, **labels)
    cluster.query("UPDATE queues_queue SET paused = true WHERE name = %s", name)
    fresh_scrape(cluster, "willow_queue_paused", 1, **labels)


async def test_queues_beyond_the_bound_are_added_up(start_cluster: StartCluster, connect: Connect) -> None:
    with start_cluster(**NO_CACHE, WILLOW_METRICS_QUEUES="2") as cluster:
        client = await connect(cluster.node)
        for number in range(1, 6):
            await client.post_all(f"queue-{number}", ["m"] * number)
        found = fresh_scrape(cluster, "willow_queue_ready", 1 + 2 + 3, queue="(others)")
        shown = {labels["queue"]: value for labels, value in found.all("willow_queue_ready")}
        assert shown == {"queue-5": 5, "queue-4": 4, "(others)": 6}
        assert found.value("willow_queue_posted_total", queue="(others)") == 6
        assert found.value("willow_queues") == 5


async def test_figures_of_the_cluster(cluster: Cluster, client: Client) -> None:
    await client.post("to-the-journal", "m")
    await client.pop("to-the-journal")
    found = fresh_scrape(cluster, "willow_nodes", 1, state="live")
    assert found.value("willow_database_up") == 1
    assert found.value("willow_sessions", state="live") >= 1
    assert found.value("willow_journal_partitions") >= 4
    assert found.value("willow_journal_bytes") > 0
    duty = {"duty": "fail expired claims"}
    assert found.all("willow_reaper_handled_total", **duty)
    assert found.value("willow_reaper_duty_failed", **duty) == 0
    assert 0 <= found.value("willow_reaper_duty_age_seconds", **duty) < PATIENCE


async def test_messages_that_nodes_made_ready_are_counted(cluster: Cluster, client: Client, queue: str) -> None:
    duty = {"duty": "make delayed messages ready"}
    before = fresh_scrape(cluster, "willow_nodes", 1, state="live").value("willow_reaper_handled_total", **duty)
    for number in range(5):
        await client.post(queue, str(number), delay=0.01 * (number + 1))
    for _ in range(5):
        await client.fetch(queue, block_timeout=PATIENCE)
    fresh_scrape(cluster, "willow_reaper_handled_total", before + 5, **duty)


async def test_figures_of_the_database_are_read_once_for_many_scrapes(
    start_cluster: StartCluster, connect: Connect
) -> None:
    with start_cluster(WILLOW_METRICS_SECONDS="3600") as cluster:
        client = await connect(cluster.node)
        await client.post("counted", "1")
        assert scrape(cluster.node).value("willow_queue_ready", queue="counted") == 1
        await client.post("counted", "2")
        assert scrape(cluster.node).value("willow_queue_ready", queue="counted") == 1


async def test_a_database_that_does_not_answer_holds_up_no_scrape(start_cluster: StartCluster) -> None:
    with start_cluster(**NO_CACHE) as cluster:
        with psycopg.connect(cluster.database_url) as blocking:
            blocking.execute("LOCK TABLE delivery_dutyrun IN ACCESS EXCLUSIVE MODE")
            found = scrape(cluster.node)
        assert found.value("willow_database_up") == 0
        assert not found.all("willow_queues")
        assert found.value("willow_lane_connected", lane="posts") == 1
        fresh_scrape(cluster, "willow_database_up", 1)


# several processes on one port


async def test_one_scrape_tells_of_all_processes_on_the_port(
    start_cluster: StartCluster, connect: Connect, tmp_path: Path
) -> None:
    # A process that stands still for longer than that is taken for gone, and a busy machine stands still for seconds.
    settings = {"WILLOW_PROCESSES": "2", "WILLOW_HOME": str(tmp_path), "WILLOW_NODE_LAPSE": "10", **NO_CACHE}
    with throwaway_valkey() as redis_url, start_cluster(REDIS_URL=redis_url, **settings) as cluster:
        first = cluster.node
        environ = {**first._environ, "WILLOW_PROCESS_NUMBER": "1"}
        second = WillowProcess("serve", environ, tmp_path / "second.log")
        second.start()
        both = {first.name, f"{first.name}-1"}
        try:
            assert wait_until(lambda: _nodes(scrape(first)) == both, PATIENCE), second.log.read_text()
            for _ in range(10):  # whichever of them answers
                found = scrape(first)
                assert _nodes(found) == both
                assert len(found.all("willow_sockets")) == 2
            await _check_that_counters_only_grow(cluster, await connect(first))
            second.kill()
            assert wait_until(lambda: _nodes(scrape(first)) == {first.name}, PATIENCE)
        finally:
            second.kill()


async def _check_that_counters_only_grow(cluster: Cluster, client: Client) -> None:
    """Whichever process answers: what one has said, another must not take back."""
    posted: dict[str, float] = {}
    for number in range(30):
        await client.post("growing", str(number))
        found = scrape(cluster.node)
        for name in ("willow_messages_total", "willow_queue_posted_total", "process_cpu_seconds_total"):
            for labels, value in found.all(name):
                counter = f"{name} {sorted(labels.items())}"
                assert value >= posted.get(counter, 0), counter
                posted[counter] = value
    assert wait_until(lambda: scrape(cluster.node).value("willow_queue_posted_total", queue="growing") == 30, PATIENCE)


def _nodes(found: Scrape) -> set[str]:
    return {labels["node"] for labels, _ in found.all("willow_sockets")}


# who may read it, and how


async def test_callers_on_this_machine_may_read_it(cluster: Cluster) -> None:
    status, _, headers = fetch(cluster.node, "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=")
    assert fetch(cluster.node, "/metrics", method="HEAD")[:2] == (200, "")
    assert fetch(cluster.node, "/metrics", method="POST")[0] == 405


async def test_openmetrics_for_whoever_asks_for_it(cluster: Cluster) -> None:
    _, text, headers = fetch(cluster.node, "/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert "willow_messages" in {family.name for family in openmetrics_families(text)}


async def test_others_may_not(cluster: Cluster) -> None:
    assert fetch(cluster.node, "/metrics", X_Forwarded_For="203.0.113.9")[0] == 401
    status, text, _ = fetch(cluster.node, "/metrics", Host="evil.example.org")
    assert (status, json.loads(text)["key"]) == (403, "host")


async def test_a_token_opens_it_from_anywhere(start_cluster: StartCluster) -> None:
    token = "t" * 20
    with start_cluster(WILLOW_METRICS="none", WILLOW_METRICS_TOKEN=token) as cluster:
        assert fetch(cluster.node, "/metrics")[0] == 401
        assert fetch(cluster.node, "/metrics", Authorization=f"Bearer {token}x")[0] == 401
        assert fetch(cluster.node, "/metrics", Authorization=f"Token {token}")[0] == 401
        status, text, _ = fetch(
            cluster.node, "/metrics", Authorization=f"Bearer {token}", Host="10.0.0.9:8080", X_Forwarded_For="10.0.0.1"
        )
        assert status == 200
        assert token not in text


async def test_everyone_if_so_configured(start_cluster: StartCluster) -> None:
    with start_cluster(WILLOW_METRICS="all") as cluster:
        assert fetch(cluster.node, "/metrics", Host="anything", X_Forwarded_For="203.0.113.9")[0] == 200


# the dashboard and the page


async def test_the_dashboard_uses_metrics_that_exist(cluster: Cluster, client: Client, queue: str) -> None:
    names = await _names(cluster, client, queue)
    dashboard = json.loads((PROJECT_FOLDER / "docs/grafana/willow.json").read_text())
    used = _used_by(dashboard)
    assert used and used <= names, used - names


async def test_the_page_describes_every_metric(cluster: Cluster, client: Client, queue: str) -> None:
    await _names(cluster, client, queue)
    page = (PROJECT_FOLDER / "docs/metrics.md").read_text()
    ours = [family for family in scrape(cluster.node).families.values() if family.name.startswith("willow_")]
    told = [f"{family.name}_total" if family.type == "counter" else family.name for family in ours]
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `willow_")]
    assert sorted(listed) == sorted(told)


async def _names(cluster: Cluster, client: Client, queue: str) -> set[str]:
    """Of all samples that there can be."""
    await client.post(queue, "m")
    assert wait_until(lambda: bool(scrape(cluster.node).all("willow_queue_ready")), PATIENCE)
    return fresh_scrape(cluster, "willow_database_up", 1).names


def _used_by(value: object) -> set[str]:
    """The names of metrics in all expressions of a dashboard."""
    if isinstance(value, dict):
        own = _metrics_of(value["expr"]) if "expr" in value else set()
        query = _metrics_of(value["query"]) if isinstance(value.get("query"), str) else set()
        return own | query | {name for held in value.values() for name in _used_by(held)}
    if isinstance(value, list):
        return {name for held in value for name in _used_by(held)}
    return set()


def _metrics_of(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:willow|process|python)_\w+", expression))
