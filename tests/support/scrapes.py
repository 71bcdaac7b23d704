"""What Prometheus would see of a node."""

import urllib.request
from collections.abc import Mapping
from urllib.error import HTTPError

from prometheus_client.parser import text_string_to_metric_families

from tests.support.cluster import PATIENCE, Cluster, Node
from willow_site.processes import wait_until

Labels = Mapping[str, str]


class Scrape:
    """All samples of one answer of /metrics, read by Prometheus' own parser."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._samples = [sample for family in self.families.values() for sample in family.samples]

    @property
    def names(self) -> set[str]:
        return {sample.name for sample in self._samples}

    def all(self, name: str, **labels: str) -> list[tuple[Labels, float]]:
        wanted = labels.items()
        return [
            (sample.labels, sample.value)
            for sample in self._samples
            if sample.name == name and wanted <= sample.labels.items()
        ]

    def value(self, name: str, **labels: str) -> float:
        """Of the one sample with these labels; 0 if there is none yet."""
        found = self.all(name, **labels)
        assert len(found) <= 1, found
        return found[0][1] if found else 0.0


def fetch(node: Node, path: str, *, method: str = "GET", **headers: str) -> tuple[int, str, Mapping[str, str]]:
    """Status, text and headers of an answer. `_` in the name of a header stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"{node.http_url}{path}", headers=named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except HTTPError as refusal:
        with refusal:
            return refusal.status, refusal.read().decode(), refusal.headers


def scrape(node: Node, **headers: str) -> Scrape:
    status, text, _ = fetch(node, "/metrics", **headers)
    assert status == 200, text
    return Scrape(text)


def wait_for_reaper(cluster: Cluster) -> None:
    """Until it has done its duties once: there is nothing to scrape of them before."""
    assert wait_until(lambda: bool(scrape(cluster.node).all("willow_reaper_handled_total")), PATIENCE)
