"""Every statement on the message table goes by the index that its own comment names, whatever the statistics say."""

import re
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from clients.statements import statement as client_statement
from delivery.storage.connection import PLANNER
from delivery.storage.statements import statement as delivery_statement
from queues.definitions import statement as queue_statement
from queues.statements import PART

LOADERS = (delivery_statement, client_statement, queue_statement)
TEXTS = {path: statement(name) for statement in LOADERS for name, path in statement.files.items()}
PROJECT = Path(__file__).parents[3]
FILES = sorted(PROJECT.glob("*/sql/**/*.sql"))  # with the parts that statements share
PRIMARY_KEY = "delivery_message_pkey"
# Statements that take the first few of a queue, and say so.
FROM_ITS_END = re.compile("once for each|from the oldest on|from the newest on|from its end")

FILL = """
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body, holder, lease_until)
    SELECT 1, n, n, 0, CASE WHEN n % {every} = 0 THEN 2 ELSE 0 END, 'x',
           CASE WHEN n % {every} = 0 THEN n END, CASE WHEN n % {every} = 0 THEN now() END
    FROM generate_series(1, 20000) AS n
"""
EMPTY = "DELETE FROM delivery_message"
LEARN = "ANALYZE delivery_message"
BELIEVE_IN_A_MILLION = "UPDATE pg_class SET reltuples = 1000000 WHERE relname = 'delivery_message'"
# What the planner may believe of the message table: nothing, that it is full, that it is empty where it is not.
HISTORIES = {
    "never-analyzed": [],
    "waiting": [FILL.format(every=1000), LEARN],
    "all-claimed": [FILL.format(every=1), LEARN],
    "filled-again-after-analyze": [LEARN, FILL.format(every=2)],
    "a-million": [FILL.format(every=2), LEARN, BELIEVE_IN_A_MILLION],
    "emptied": [FILL.format(every=2), EMPTY, LEARN],
}


def comment_of(path: Path) -> str:
    lines = path.read_text().splitlines()
    return " ".join(line.removeprefix("--").strip() for line in lines if line.startswith("--"))


def with_numbered_parameters(query: str) -> str:
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${names.setdefault(match[1], len(names) + 1)}"

    return re.sub(r"%\((\w+)\)[sb]", number, query).replace("%%", "%")


def plan_of(query: str) -> str:
    """The plan that PostgreSQL makes for any parameters."""
    with connection.cursor() as cursor, connection.connection.cursor(row_factory=psycopg.rows.tuple_row) as raw:
        for name, value in PLANNER.items():
            cursor.execute(f"SET LOCAL {name} = {value}")
        raw.execute(f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {with_numbered_parameters(query)}")
        return "\n".join(line for (line,) in raw.fetchall())


def fault_in_the_plan_of(path: Path) -> str | None:
    comment = comment_of(path)
    plan = plan_of(TEXTS[path])
    lines = plan.splitlines()
    for number, line in enumerate(lines):
        if (
            "Scan" in line
            and "Tid Scan" not in line
            and "Sample Scan" not in line
            and re.search(r" on delivery_message\b", line)
        ):
            scan = re.search(r"Index (?:Only )?Scan (?:Backward )?using (\w+)", line)
            below = "".join(lines[number + 1 : number + 2])
            fault = fault_in(scan[1], below, comment) if scan else "reads the whole table"
            if fault:
                return f"{fault}:\n{plan}"
    return None


def fault_in(index: str, condition: str, comment: str) -> str | None:
    """An index that the comment names must also be entered where its conditions say, not walked from end to end."""
    if index not in comment and not (index == PRIMARY_KEY and "message's primary key" in comment):
        return f"the comment does not name {index}"
    if "Index Cond" not in condition and "as a whole" not in comment:
        return f"walks over all of {index}"
    if index == PRIMARY_KEY and not re.search(r"\bindex\b", condition) and not FROM_ITS_END.search(comment):
        return f"walks over a whole queue by {index}"
    return None


@pytest.mark.django_db
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_statements_run_on_the_indexes_that_they_name(history: list[str]) -> None:
    with connection.cursor() as cursor:
        for step in history:
            cursor.execute(step)
    faults = {path.stem: fault for path in sorted(TEXTS) if (fault := fault_in_the_plan_of(path)) is not None}
    assert not faults, "\n".join(f"{name}: {fault}" for name, fault in faults.items())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_statement_says_what_it_does_under_its_own_name(path: Path) -> None:
    assert comment_of(path).startswith(f"{path.stem.removeprefix(PART)}: ")


def test_every_file_is_a_statement_or_a_part_of_some() -> None:
    parts = {path for path in FILES if path.stem.startswith(PART)}
    assert set(FILES) - parts == set(TEXTS)
    written = "".join(path.read_text() for path in FILES)
    assert [path.stem for path in parts if f":{path.stem.removeprefix(PART).upper()}" not in written] == []
