"""The answer to a scrape."""

from django.conf import settings
from prometheus_client.exposition import choose_encoder

from delivery.metrics.families import merged
from delivery.metrics.one_process import OneProcess
from delivery.metrics.several_processes import SeveralProcesses
from delivery.node.node import Node


class Scrape:
    def __init__(self) -> None:
        self._source = SeveralProcesses() if settings.WILLOW.processes > 1 else OneProcess()

    async def answer(self, node: Node, accepts: str) -> tuple[bytes, str]:
        """The text and its content type, in the format that the scraper prefers."""
        families = await self._source.families(node)
        encode, content_type = choose_encoder(accepts)
        return encode(merged(families)), content_type
