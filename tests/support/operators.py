"""What an operator does on the database of a cluster, in this process: as the console and REST do it in theirs."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from django.db import connections

from delivery.operating.audit import Operator
from tests.support.cluster import Cluster
from willow_site.settings import _database

Result = TypeVar("Result")
OPERATOR = Operator("ops", "staff")


class Operators:
    def __init__(self, blocker: Any) -> None:
        self._blocker = blocker

    async def on(self, cluster: Cluster, action: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
        """Run a synchronous function of Django's in a thread of its own, on the cluster's database."""
        return await asyncio.to_thread(self._run, cluster, action, args, kwargs)

    def _run(self, cluster: Cluster, action: Callable[..., Result], args: Any, kwargs: Any) -> Result:
        with self._blocker.unblock(), django_on(cluster.database_url):
            return action(*args, **kwargs)


@contextmanager
def django_on(database_url: str) -> Iterator[None]:
    """In this thread, and until its end, Django's connection is to another database."""
    usual = connections.settings["default"].copy()
    connections.settings["default"].update(_database(database_url))
    try:
        yield
    finally:
        connections["default"].close()
        del connections["default"]
        connections.settings["default"].update(usual)


@pytest.fixture
def operators(django_db_blocker: Any) -> Operators:
    return Operators(django_db_blocker)
