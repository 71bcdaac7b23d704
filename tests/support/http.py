"""HTTP requests to a node."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from tests.support.cluster import PATIENCE, Node


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


async def call(
    node: Node,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: dict[str, str] | None = None,
    **arguments: Any,
) -> Answer:
    """`body` is sent as JSON, `arguments` behind the path; a list among them is repeated."""
    query = f"?{urlencode(arguments, doseq=True)}" if arguments else ""
    request = Request(f"{node.http_url}{quote(path)}{query}", method=method, headers=headers or {})
    if body is not None:
        request.data = json.dumps(body).encode()
        if not request.has_header("Content-type"):
            request.add_header("Content-Type", "application/json")
    return await asyncio.to_thread(_answer, request)


async def get(node: Node, path: str) -> tuple[int, Any]:
    """The status code and the JSON of the answer."""
    answer = await call(node, "GET", path)
    return answer.status, answer.json


def _answer(request: Request) -> Answer:
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            return Answer(answer.status, dict(answer.headers), answer.read())
    except HTTPError as refusal:
        with refusal:
            return Answer(refusal.status or 0, dict(refusal.headers), refusal.read())
