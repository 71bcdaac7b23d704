"""Every statement on the message table goes by the index that its own comment names, whatever the statistics say."""

import re
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from delivery.database import PLANNER

SQL_FOLDERS = ("delivery/sql", "clients/sql", "queues/sql")
PROJECT = Path(__file__).parents[2]
STATEMENTS = sorted(path for folder in SQL_FOLDERS for path in (PROJECT / folder).glob("*.sql"))
PRIMARY_KEY = "delivery_message_pkey"


def comment_and_query(path: Path) -> tuple[str, str]:
    lines = path.read_text().splitlines()
    comment = " ".join(line.removeprefix("--").strip() for line in lines if line.startswith("--"))
    return comment, "\n".join(line for line in lines if not line.lstrip().startswith("--"))


def with_numbered_parameters(query: str) -> str:
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${names.setdefault(match[1], len(names) + 1)}"

    return re.sub(r"%\((\w+)\)[sb]", number, query).replace("%%", "%")


def plan_of(query: str) -> str:
    """The plan that PostgreSQL makes for any parameters, on a table that it takes for empty."""
    with connection.cursor() as cursor, connection.connection.cursor(row_factory=psycopg.rows.tuple_row) as raw:
        for name, value in PLANNER.items():
            cursor.execute(f"SET LOCAL {name} = {value}")
        raw.execute(f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {with_numbered_parameters(query)}")
        return "\n".join(line for (line,) in raw.fetchall())


@pytest.mark.django_db
@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_statement_runs_on_the_index_that_it_names(path: Path) -> None:
    comment, query = comment_and_query(path)
    plan = plan_of(query)
    used = set(re.findall(r"using (\w+) on delivery_message\b", plan))
    named = {index for index in used if index in comment}
    if "message's primary key" in comment:
        named.add(PRIMARY_KEY)
    assert used <= named, f"the comment does not name {used - named}:\n{plan}"
    assert "Scan on delivery_message" not in plan.replace("Index Scan", "").replace("Index Only Scan", ""), plan


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_statement_says_what_it_does_under_its_own_name(path: Path) -> None:
    comment, _ = comment_and_query(path)
    assert comment.startswith(f"{path.stem}: ")
