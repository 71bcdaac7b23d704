"""See tests/support/fixtures.py."""

from collections.abc import Iterator

import pytest

from tests.support.fixtures import broker, connect, connect_when_available, name, queue, start_cluster
from tests.support.storage import Storage, running_storage

__all__ = ["broker", "connect", "connect_when_available", "name", "queue", "start_cluster"]


@pytest.fixture(scope="package")
def storage() -> Iterator[Storage]:
    with running_storage() as storage:
        yield storage
