"""Callers of the REST API: an operator with a key, and whoever else a test makes."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.http import Answer, call
from tests.support.keys import ClientKey, make_key

Call = Callable[..., Awaitable[Answer]]


@pytest.fixture(scope="package")
def operator_key(broker: Cluster) -> ClientKey:
    return make_key(broker, {"*": {"admin", "post", "fetch", "create"}})


@pytest.fixture
def api(broker: Cluster, operator_key: ClientKey) -> Call:
    """`await api("GET", "queues", limit=3)` as an operator."""

    async def api(method: str, path: str, body: Any = None, **arguments: Any) -> Answer:
        return await call(broker.node, method, f"/api/{path}", body, headers=operator_key.headers, **arguments)

    return api
