"""The role for analysts: what it may see, and what it cannot do to the broker."""

from collections.abc import Iterator
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import sql

ROLE = "willow_analyst_of_a_test"


@pytest.fixture
def analyst(transactional_db: None) -> Iterator[psycopg.Connection]:
    said = StringIO()
    call_command("analyst_role", "create", role=ROLE, stdout=said)
    url = said.getvalue().split()[-1]
    with psycopg.connect(url, autocommit=True) as reader:
        yield reader
    with connection.cursor() as cursor:
        for command in ("DROP OWNED BY {}", "DROP ROLE {}"):
            cursor.execute(sql.SQL(command).format(sql.Identifier(ROLE)))


def test_it_reads_views_and_facts_only_and_briefly(analyst: psycopg.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM delivery_journal")  # other tests commit into it
        assert analyst.execute("SELECT count(*) FROM willow_journal_v1").fetchone() == cursor.fetchone()
    assert analyst.execute("SELECT count(*) FROM willow_queue_facts").fetchone() == (0,)
    assert analyst.execute("SHOW statement_timeout").fetchone() == ("25s",)
    assert analyst.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("25s",)
    limit = analyst.execute("SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user").fetchone()
    assert limit == (10,)
    for refused in ("SELECT FROM delivery_message", "SELECT FROM delivery_journal", "SELECT FROM clients_key"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            analyst.execute(refused)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        analyst.execute("DELETE FROM willow_queue_facts")


def test_making_it_again_changes_its_password(analyst: psycopg.Connection) -> None:
    said = StringIO()
    call_command("analyst_role", "create", role=ROLE, stdout=said)
    with psycopg.connect(said.getvalue().split()[-1]) as again:
        assert again.execute("SELECT current_user").fetchone() == (ROLE,)


def test_a_database_that_allows_no_roles_gets_the_statements_for_somebody_who_may(transactional_db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE willow_owner_of_a_test")
        cursor.execute("SET ROLE willow_owner_of_a_test")
    try:
        with pytest.raises(CommandError, match=r"does not let Willow make roles.*\n.*CREATE ROLE") as refusal:
            call_command("analyst_role", "create", role="willow_other_of_a_test")
        assert "statement_timeout = '25s'" in str(refusal.value)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP ROLE willow_owner_of_a_test")


def test_a_role_that_is_not_there_is_named(transactional_db: None) -> None:
    with pytest.raises(CommandError, match="nobody_of_this_name"):
        call_command("analyst_role", "grant", role="nobody_of_this_name")
