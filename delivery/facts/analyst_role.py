"""The role by which analysts, and Spark, read: views and facts only, in short statements, on few connections.

It is made by a command and not by a migration: roles belong to the whole server and need a password, and many
production databases do not let the application make any.
"""

from typing import Any

from django.db import connection, transaction
from django.db.utils import ProgrammingError
from psycopg import sql

from delivery.operating.audit import Operator, audit

ROLE = "willow_analyst"
STATEMENT_SECONDS = 25  # below the 30 s that a snapshot may be old
CONNECTIONS = 10

VIEWS = (
    "willow_journal_v1",
    "willow_journal_v2",
    "willow_queues_v1",
    "willow_clients_v1",
    "willow_nodes_v1",
    "willow_dead_letter_clusters_v1",
)
TABLES = (
    "willow_queue_facts",
    "willow_client_facts",
    "willow_node_facts",
    "willow_service_facts",
    "willow_dead_letter_clusters",
    "willow_health_findings",
    "willow_pipeline_runs",
    "iceberg_tables",
    "iceberg_namespace_properties",
    "willow_archive_days",
)


class RolesForbiddenError(Exception):
    """This database does not let us make roles."""


@transaction.atomic
def analyst_role_define(*, password: str, role: str = ROLE, by: Operator) -> None:
    """Make the role, or give an existing one the password and the bounds, and let it read."""
    try:
        _execute("CREATE ROLE {} LOGIN", role) if not _exists(role) else None
        _execute("ALTER ROLE {} PASSWORD {} CONNECTION LIMIT {}", role, sql.Literal(password), sql.Literal(CONNECTIONS))
        for setting, value in _bounds().items():
            _execute(f"ALTER ROLE {{}} SET {setting} = {{}}", role, sql.Literal(value))
    except ProgrammingError as error:
        raise RolesForbiddenError(str(error).strip().splitlines()[0]) from error
    _grant(role)
    audit(by=by, action="define analyst role", target=role)


@transaction.atomic
def analyst_role_grant(*, role: str = ROLE, by: Operator) -> None:
    """Let an existing role read the views and the facts, and nothing else."""
    _grant(role)
    audit(by=by, action="let role read facts", target=role)


def _grant(role: str) -> None:
    _execute("GRANT USAGE ON SCHEMA public TO {}", role)
    for relation in (*VIEWS, *TABLES):
        _execute("GRANT SELECT ON {1} TO {0}", role, sql.Identifier(relation))


def statements_for_an_administrator(role: str = ROLE) -> str:
    """What somebody who may make roles runs once."""
    bounds = "".join(f"ALTER ROLE {role} SET {name} = '{value}';\n" for name, value in _bounds().items())
    return (
        f"CREATE ROLE {role} LOGIN PASSWORD '…' CONNECTION LIMIT {CONNECTIONS};\n{bounds}"
        f"-- then: ./willow manage analyst_role grant"
    )


def _bounds() -> dict[str, str]:
    seconds = f"{STATEMENT_SECONDS}s"
    return {
        "default_transaction_read_only": "on",
        "statement_timeout": seconds,
        "idle_in_transaction_session_timeout": seconds,
    }


def _exists(role: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
        return cursor.fetchone() is not None


def _execute(statement: Any, role: str, *parts: sql.Composable) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(statement).format(sql.Identifier(role), *parts))
