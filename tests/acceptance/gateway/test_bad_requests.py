"""Requests that no client should send, and for which nobody needs a key: each is answered, and none by a traceback.

That the log holds no traceback is checked for every test when its broker stops.
"""

import asyncio

import pytest

from tests.support.cluster import PATIENCE, Cluster

UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
# The path, headers, whether it is a WebSocket, and the status of the answer.
REQUESTS = [
    ("/status/x", {"Daphne-Root-Path": "/elsewhere"}, False, 404),
    ("/status/x", {"Daphne-Root-Path": "\xff"}, False, 404),
    ("/connect/", {"Daphne-Root-Path": "/elsewhere"}, True, 101),
    ("/connect/", {"Daphne-Root-Path": "/connect"}, True, 101),
    ("/connect/", {"Daphne-Root-Path": "\xff"}, True, 101),
    ("/connect/", {"Sec-WebSocket-Protocol": "unknown"}, True, 101),
    ("/connect/", {"Sec-WebSocket-Protocol": "\xff\xfe"}, True, 400),
    ("/connect/", {"Sec-WebSocket-Protocol": "a, a"}, True, 400),
    ("/connect/", {"Sec-WebSocket-Protocol": ","}, True, 400),
    ("/status/x", {"Host": "evil.example"}, False, 400),
    ("/admin/", {"Host": "a b\xff"}, False, 400),
    ("/status/x", {"Host": "[::1"}, False, 400),
    ("/admin/login/", {"Host": ""}, False, 400),
    ("/metrics", {"Host": "[x"}, False, 403),
    ("/connect/", {"Host": "evil.example:x"}, True, 400),
    ("/connect/", {"Origin": "http://[x"}, True, 400),
    ("/connect/?id=%ff&token=%00", {}, True, 101),
    ("/status/%ff%00", {}, False, 404),
    ("/status/x", {"Authorization": "Token \xff"}, False, 401),
    ("/status/x?token=%00", {}, False, 401),
    ("/console/live/", {"Cookie": "sessionid=\xff; ;=;"}, True, 101),
]


@pytest.mark.parametrize(("path", "headers", "upgrades", "status"), REQUESTS)
async def test_an_odd_request_is_answered(
    broker: Cluster, path: str, headers: dict[str, str], upgrades: bool, status: int
) -> None:
    sent = {"Host": "localhost", **(UPGRADE if upgrades else {}), **headers}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.node.port)
        writer.write("\r\n".join(lines).encode("latin1"))
        answer = await reader.readline()
        writer.close()
    assert answer.split()[1] == str(status).encode(), answer
