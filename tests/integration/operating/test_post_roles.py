"""Roles of PostgreSQL that may post by `willow_post`: where they may, and nowhere else."""

from collections.abc import Iterator
from io import StringIO
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from delivery.operating.models import AuditEntry

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "only for this test"


@pytest.fixture
def role() -> Iterator[str]:
    name = f"shop_{uuid4().hex[:12]}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    yield name
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {name}")
        cursor.execute(f"DROP ROLE {name}")


def post(role: str, queue: str) -> int:
    """As an application that logs in as this role."""
    where: dict[str, Any] = connection.get_connection_params()
    with psycopg.connect(
        host=where["host"], port=where["port"], dbname=where["dbname"], user=role, password=PASSWORD
    ) as application:
        row = application.execute("SELECT willow_post(%s, 'b')", [queue]).fetchone()
    assert row is not None
    return int(row[0])


def post_role(*arguments: str) -> str:
    out = StringIO()
    call_command("post_role", *arguments, stdout=out)
    return out.getvalue()


def test_a_role_posts_where_it_may_and_nowhere_else(role: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        post(role, "orders.new")
    assert "orders.*, under_score" in post_role("grant", role, "--queues", "orders.*", "--queues", "under_score")
    assert post(role, "orders.new") and post(role, "under_score")
    for queue in ("orders", "payments", "underXscore"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"the role {role} may not post to the queue"):
            post(role, queue)
    assert f"{role}: orders.*, under_score" in post_role("list")


def test_a_role_that_is_revoked_posts_nothing(role: str) -> None:
    post_role("grant", role, "--queues", "*")
    assert post(role, "anywhere")
    post_role("revoke", role)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        post(role, "anywhere")
    assert list(AuditEntry.objects.order_by("id").values_list("action", "target")) == [
        ("let role post", role),
        ("let role post no more", role),
    ]


def test_a_role_cannot_write_or_read_what_others_post(role: str) -> None:
    post_role("grant", role, "--queues", "*")
    where: dict[str, Any] = connection.get_connection_params()
    with psycopg.connect(
        host=where["host"], port=where["port"], dbname=where["dbname"], user=role, password=PASSWORD, autocommit=True
    ) as application:
        for statement in ("SELECT * FROM delivery_transactionalpost", "DELETE FROM delivery_transactionalpost"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                application.execute(statement)


def test_what_cannot_be_granted_is_refused_in_a_sentence(role: str) -> None:
    with pytest.raises(CommandError, match="There is no role nobody_here"):
        post_role("grant", "nobody_here", "--queues", "*")
    with pytest.raises(CommandError, match="A pattern must be"):
        post_role("grant", role, "--queues", "ümlaut")
