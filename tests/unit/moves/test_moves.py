"""Messages change their state only along the moves of delivery/moves/states.py, read from the statements themselves.

That PostgreSQL does what they say is in tests/integration/moves/test_moves.py.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from delivery.moves.states import MOVES, Move, State
from delivery.storage.statements import statement
from queues.statements import PART, without_comments

PROJECT = Path(__file__).parents[3]
APPS = ("api", "clients", "console", "delivery", "queues", "willow_site")
PARTS = {
    path.stem.removeprefix(PART).upper(): without_comments(path)
    for path in (PROJECT / "delivery/sql").rglob(f"{PART}*.sql")
}
DATABASE_FIGURES = PROJECT / "delivery/figures/database.py"  # reads: its statements have names that are put together

WRITES_MESSAGES = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) delivery_message\b")
KEEP_THE_STATE = {"keepalive", "restart_leases", "hand_claims_over", "mark_dead", "mark_moved"}
# Where the caller's transaction has locked the messages, the statement that did it holds the guard.
GUARDED_BY = {"replace": "find_by_key", "bury": "retry", "take_out": "lock_unclaimed"}


def text_of(name: str) -> str:
    """With the parts that statements share, and with the names of states in it."""
    return re.sub(r":(\w+)", lambda found: PARTS.get(found[1], found[0]), without_comments(statement.files[name]))


def writing() -> set[str]:
    return {name for name in statement.files if WRITES_MESSAGES.search(text_of(name))}


def test_every_statement_that_changes_a_state_is_a_move() -> None:
    assert writing() - KEEP_THE_STATE == {move.statement for move in MOVES}


def test_states_are_written_by_name() -> None:
    """Otherwise the tests below would not see them."""
    numbered = {name for name in statement.files if re.search(r"\bstate(?: \+ 0)? (?:=|<>|IN \() ?\d", text_of(name))}
    assert numbered == set()


@pytest.mark.parametrize("name", sorted(KEEP_THE_STATE))
def test_the_other_statements_do_not_set_the_state(name: str) -> None:
    assert "state" not in set_clause(text_of(name))


@pytest.mark.parametrize("move", [move for move in MOVES if move.starts], ids=lambda move: move.statement)
def test_a_move_is_guarded_by_the_states_where_it_starts(move: Move) -> None:
    guards = guarded_states(text_of(GUARDED_BY.get(move.statement, move.statement)))
    assert guards
    assert guards <= move.starts


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.statement)
def test_a_move_leads_only_where_the_table_says(move: Move) -> None:
    text = text_of(move.statement)
    if "DELETE FROM delivery_message" in text:
        assert move.leads_to == frozenset()
    elif "state" in set_clause(text) or "INSERT INTO delivery_message" in text:
        assert written_states(text) == move.leads_to
    else:
        assert move.leads_to == move.starts


def set_clause(text: str) -> str:
    found = re.search(r"UPDATE delivery_message\b.*?\bSET\b(.*?)\b(?:FROM|WHERE)\b", text, re.DOTALL)
    return found[1] if found else ""


def written_states(text: str) -> set[State]:
    """The states in what is written to the column, which is the only one that is written by their names."""
    inserted = re.search(r"INSERT INTO delivery_message\b(.*)", text, re.DOTALL)
    return states_in(inserted[1] if inserted else set_clause(text))


def guarded_states(text: str) -> set[State]:
    guards = re.findall(r"\bstate(?: \+ 0)? (= :\w+|IN \([^)]*\))", text.replace(set_clause(text), ""))
    return states_in(" ".join(guards))


def states_in(text: str) -> set[State]:
    return {State[name] for name in re.findall(r":(\w+)", text) if name in State.names}


def test_only_the_moves_run_them() -> None:
    elsewhere = {
        f"{path.relative_to(PROJECT)} runs {name}"
        for path, name in statements_run()
        if name in writing() and path.parent != PROJECT / "delivery/moves"
    }
    assert elsewhere == set()


def test_all_of_them_are_run() -> None:
    assert writing() <= {name for _, name in statements_run()}


def statements_run() -> Iterator[tuple[Path, str]]:
    for app in APPS:
        for path in (PROJECT / app).rglob("*.py"):
            for call in ast.walk(ast.parse(path.read_text())):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "statement":
                    [name] = call.args
                    assert isinstance(name, ast.Constant) or path == DATABASE_FIGURES, f"{path}: which statement?"
                    yield path, name.value if isinstance(name, ast.Constant) else ""


def test_nobody_writes_messages_in_another_way() -> None:
    written = re.compile(WRITES_MESSAGES.pattern + r"|\bMessage\.objects\b.*\.(create|update|delete)\(")
    paths = [path for app in APPS for path in (PROJECT / app).rglob("*.py") if path.parent.name != "migrations"]
    assert [path for path in paths if written.search(path.read_text())] == []
