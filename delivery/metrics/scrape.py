"""The answer to a scrape: figures of this process, of its siblings on the port, and of the cluster."""

from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from delivery.metrics.of_cluster import ClusterFigures
from delivery.metrics.of_process import process_families
from delivery.metrics.siblings import Families, sibling_families
from delivery.node import Node


class Scrape:
    def __init__(self) -> None:
        self._cluster = ClusterFigures()

    async def answer(self, node: Node, accepts: str) -> tuple[bytes, str]:
        """The text and its content type, in the format that the scraper prefers."""
        of_cluster = await self._cluster.families()
        gathered = _merged([*process_families(node), *sibling_families(), *of_cluster])
        encode, content_type = choose_encoder(accepts)
        return encode(Families(gathered)), content_type


def _merged(families: Iterable[Metric]) -> list[Metric]:
    """One family of each name, with the samples of all."""
    by_name: dict[str, Metric] = {}
    for family in families:
        if family.name in by_name:
            by_name[family.name].samples += family.samples
        else:
            by_name[family.name] = family
    return list(by_name.values())
