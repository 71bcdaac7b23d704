"""GET requests to a node."""

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from tests.brokers.cluster import PATIENCE, Node


async def get(node: Node, path: str) -> tuple[int, Any]:
    """The status code and the JSON of the answer."""
    return await asyncio.to_thread(_get, f"{node.http_url}{quote(path)}")


def _get(url: str) -> tuple[int, Any]:
    try:
        with urlopen(url, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refusal:
        with refusal:
            return refusal.status, json.load(refusal)
