"""Fresh databases with Willow's tables, copied from one that is migrated once per server and run."""

import os
import subprocess
import sys
import uuid
from functools import cached_property
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from willow_site.project_folder import PROJECT_FOLDER

QUERIES = "queries of a test"


class Databases:
    """Those of one PostgreSQL server."""

    def __init__(self, server_url: str) -> None:
        self._server_url = server_url

    def make(self) -> str:
        """The URL of a new database."""
        name = _new_name()
        self._administer("CREATE DATABASE {} TEMPLATE {}", name, self._template)
        return self._url(name)

    def drop(self, url: str) -> None:
        self._administer("DROP DATABASE {} WITH (FORCE)", urlsplit(url).path.removeprefix("/"))

    def drop_template(self) -> None:
        if "_template" in vars(self):
            self.drop(self._url(self._template))

    @cached_property
    def _template(self) -> str:
        name = _new_name()
        self._administer("CREATE DATABASE {}", name)
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity=0"],
            cwd=PROJECT_FOLDER,
            env={**os.environ, "DATABASE_URL": self._url(name)},
            check=True,
        )
        return name

    def _url(self, name: str) -> str:
        return urlsplit(self._server_url)._replace(path=f"/{name}").geturl()

    def _administer(self, command: LiteralString, *names: str) -> None:
        with psycopg.connect(self._server_url, autocommit=True) as connection:
            connection.execute(sql.SQL(command).format(*map(sql.Identifier, names)))


def _new_name() -> str:
    return f"willow_test_{uuid.uuid4().hex}"


def query(url: str, statement: LiteralString, *parameters: Any) -> list[Any]:
    """The rows that a statement gives, committed before they are returned."""
    # Named, because PostgreSQL may list a session for a while after its client has left, and some tests count sessions.
    with psycopg.connect(url, autocommit=True, application_name=QUERIES) as connection:
        cursor = connection.execute(statement, parameters)
        return cursor.fetchall() if cursor.description is not None else []
