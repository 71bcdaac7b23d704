"""The alerts in deploy/prometheus: they use metrics and labels that there are, and fire when they should."""

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.launched_willow import free_port
from tests.support.scrapes import scrape, wait_for_reaper
from willow_site.processes import wait_until
from willow_site.project_folder import PROJECT_FOLDER

FOLDER = PROJECT_FOLDER / "deploy" / "prometheus"
RULES = FOLDER / "willow-rules.yml"
INSTALL = "apt-get install --yes --no-install-recommends prometheus"
OF_PROMETHEUS = {"up"}
NOT_OURS = {"job", "instance"}
SELECTOR = re.compile(r"([a-z_]+)\{([^}]*)\}|(willow_[a-z_]+)")
AGED = "UPDATE delivery_message SET posted_at = now() - interval '1 hour' RETURNING 1"


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(reaper=True, WILLOW_METRICS_SECONDS="0.1") as cluster:
        wait_for_reaper(cluster)
        yield cluster


@pytest.fixture
async def client(cluster: Cluster, connect: Connect) -> Client:
    return await connect(cluster.node)


async def test_they_use_metrics_and_labels_that_there_are(cluster: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "a")
    # Figures of the database may be a moment old.
    assert wait_until(lambda: scrape(cluster.node).value("willow_queue_ready", queue=queue) == 1, PATIENCE)
    found = scrape(cluster.node)
    names = found.names | OF_PROMETHEUS | {"willow_refusals_total"}  # counted from the first refusal on
    for rule in rules():
        for metric, labels, plain in SELECTOR.findall(rule["expr"]):
            name = metric or plain
            assert name in names, (rule["alert"], name)
            for label in re.findall(r"([a-z_]+)=", labels):
                known = {one for sample, _ in found.all(name) for one in sample} | NOT_OURS | {"code"}
                assert label in known, (rule["alert"], name, label)
        assert {"summary", "description"} == rule["annotations"].keys()
        assert rule["labels"]["severity"] in ("warning", "critical")


async def test_the_page_lists_them() -> None:
    page = (PROJECT_FOLDER / "docs" / "metrics.md").read_text()
    assert re.findall(r"^\| `(Willow\w+)` \|", page, re.M) == [rule["alert"] for rule in rules()]


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"This test needs {name}. On Debian and Ubuntu, run: {INSTALL}"
    return found


@pytest.mark.long
def test_promtool_accepts_them_and_their_situations() -> None:
    for command in (["check", "rules", RULES.name], ["test", "rules", "willow-rules-test.yml"]):
        answer = subprocess.run(
            [program("promtool"), *command], cwd=FOLDER, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.long
async def test_a_real_prometheus_fires_them_for_what_is_wrong_and_nothing_else(
    cluster: Cluster, client: Client, queue: str, tmp_path: Path
) -> None:
    await client.create(queue, retry_limit=1)
    await client.post(queue, "dies")
    await client.fail(await client.fetch(queue))  # a dead letter, with nobody who consumes it
    await client.create(f"{queue}-stream", kind="stream")
    await client.post(f"{queue}-stream", "kept")
    await client.post(queue, "waits", tags=["eu"])
    await client.post(queue, "waits too", tags=["us"])
    await client.begin_waiting("pop", f"{queue}-other", timeout=600)
    cluster.query(AGED)
    with real_prometheus(cluster, tmp_path) as address:
        wanted = {("WillowDeadLetters", f"{queue}.dead", ""), *_both("WillowQueueUnconsumed", queue)}
        wanted |= _both("WillowQueueSlow", queue)
        assert wait_until(lambda: wanted <= firing(address), PATIENCE), firing(address)
        of_queue = {alert for alert in firing(address) if alert[1].startswith(queue)}
        assert of_queue == wanted  # neither the dead letter queue nor the stream is slow or unconsumed


@contextmanager
def real_prometheus(cluster: Cluster, folder: Path) -> Iterator[str]:
    """The address of a Prometheus with our rules, which waits for nothing before an alert fires."""
    settings = yaml.safe_load(RULES.read_text())
    for rule in settings["groups"][0]["rules"]:
        rule.pop("for", None)
    (folder / "rules.yml").write_text(yaml.safe_dump(settings))
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [
            {"job_name": "willow", "static_configs": [{"targets": [cluster.node.http_url.removeprefix("http://")]}]}
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    address = f"127.0.0.1:{free_port()}"
    command = [program("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=log, stderr=log) as process,
    ):
        try:
            assert wait_until(lambda: _answers(f"http://{address}/-/ready"), PATIENCE), (folder / "log").read_text()
            yield f"http://{address}"
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _both(alert: str, queue: str) -> set[tuple[str, str, str]]:
    return {(alert, queue, "eu"), (alert, queue, "us")}


def firing(address: str) -> set[tuple[str, str, str]]:
    """By alert, queue and tags."""
    with urllib.request.urlopen(f"{address}/api/v1/alerts", timeout=PATIENCE) as answer:
        alerts = json.load(answer)["data"]["alerts"]
    return {
        (one["labels"]["alertname"], one["labels"].get("queue", ""), one["labels"].get("tags", ""))
        for one in alerts
        if one["state"] == "firing"
    }
