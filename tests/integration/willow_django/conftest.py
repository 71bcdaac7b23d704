"""A Django project of its own for each test, on the shared broker."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import willow_client

from tests.integration.willow_django.waiting_tasks import WaitingTasks
from tests.support import fixtures
from tests.support.cluster import PATIENCE, Cluster
from tests.support.storage import Storage, running_storage

broker, start_cluster, queue = fixtures.broker, fixtures.start_cluster, fixtures.queue

ROOT = Path(__file__).parents[3]
# Projects may run on another Python and Django than Willow's own (CONTRIBUTING.md).
PYTHON = os.environ.get("SHOP_PYTHON", sys.executable)


class Project:
    """Its code runs in processes of its own: this one has Willow's settings."""

    def __init__(self, database: dict[str, Any], willow: dict[str, Any]) -> None:
        self.prefix = f"tasks-{uuid.uuid4().hex}."
        self.environ = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}:{ROOT / 'sdk'}",
            "DJANGO_SETTINGS_MODULE": "tests.support.shop.settings",
            "SHOP_DATABASES": json.dumps({"default": database}),
            "SHOP_WILLOW": json.dumps(willow),
            "SHOP_PREFIX": self.prefix,
        }

    def configure_database(self, **settings: Any) -> None:
        databases = json.loads(self.environ["SHOP_DATABASES"])
        databases["default"] |= settings
        self.environ["SHOP_DATABASES"] = json.dumps(databases)

    def manage(self, *arguments: str) -> str:
        return self._run("-m", "django", *arguments)

    def python(self, code: str) -> Any:
        """What it prints, which must be JSON."""
        preamble = "import django, json; django.setup(); from django.db import transaction\n"
        printed = self._run("-c", preamble + code)
        return json.loads(printed) if printed.strip() else None

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [PYTHON, *arguments], env=self.environ, capture_output=True, text=True, timeout=2 * PATIENCE
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """A command of manage.py, whose errors can be read."""
        command = [PYTHON, "-m", "django", *arguments]
        return subprocess.Popen(command, env=self.environ, text=True, stderr=subprocess.PIPE)

    @contextmanager
    def running(self, *arguments: str, said: Path | None = None) -> Iterator["subprocess.Popen[str]"]:
        """A command of manage.py, until the end of the block, where it must end in good order.

        `said`: a file for what it logs.
        """
        command = [PYTHON, "-m", "django", *arguments]
        with ExitStack() as files:
            log = None if said is None else files.enter_context(said.open("w"))
            process = subprocess.Popen(command, env=self.environ, text=True, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            assert process.wait(2 * PATIENCE) == 0


def project_beside(broker: Cluster) -> Project:
    """It shares Willow's database."""
    return _migrated(_postgresql(broker.database_url), {"URL": broker.node.url, "OUTBOX": "shared"})


def _postgresql(url: str) -> dict[str, Any]:
    where = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": where.path[1:],
        "USER": where.username,
        "PASSWORD": where.password,
        "HOST": where.hostname,
        "PORT": where.port,
    }


def _migrated(database: dict[str, Any], willow: dict[str, Any]) -> Project:
    project = Project(database, willow)
    project.manage("migrate", "willow_django", "-v0")
    return project


@pytest.fixture
def shop(broker: Cluster) -> Project:
    return project_beside(broker)


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with running_storage() as storage:
        yield storage


@pytest.fixture
def shop_on_postgres(broker: Cluster, storage: Storage) -> Iterator[Project]:
    """It has a PostgreSQL of its own, which the test may stop."""
    database_url = storage.databases.make()
    yield _migrated(_postgresql(database_url), {"URL": broker.node.url})
    storage.start()
    storage.databases.drop(database_url)


@pytest.fixture
def shop_elsewhere(broker: Cluster, tmp_path: Path) -> Project:
    """It has a database of its own."""
    database = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(tmp_path / "shop.sqlite3"),
        "OPTIONS": {"timeout": 30},
    }
    return _migrated(database, {"URL": broker.node.url})


@pytest.fixture
def waiting(tmp_path: Path) -> WaitingTasks:
    return WaitingTasks(tmp_path)


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """For what a worker logs."""
    return tmp_path / "said"


@pytest.fixture
async def client(broker: Cluster) -> AsyncIterator[willow_client.Client]:
    async with willow_client.connect(broker.node.url) as client:
        yield client
