"""Messages change their state only along the moves of delivery/moves/states.py."""

import re

import pytest

from delivery.moves.states import MOVES, Move
from delivery.storage.statements import statement

WRITES_STATE = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) delivery_message\b")
LEASES_ONLY = {
    "keepalive",
    "restart_leases",
    "hand_claims_over",
    "mark_dead",
    "mark_moved",
}  # they leave the state as it is

GUARDED_BY = {"replace": "find_by_key", "bury": "retry", "take_out": "lock_unclaimed"}


def test_every_statement_that_changes_a_state_is_a_move() -> None:
    writing = {name for name in statement.files if WRITES_STATE.search(statement(name))}
    assert writing - LEASES_ONLY == {move.statement for move in MOVES}


@pytest.mark.parametrize("name", sorted(LEASES_ONLY))
def test_the_other_statements_do_not_set_the_state(name: str) -> None:
    assert not re.search(r"\bstate = (?!2\b)", statement(name))


@pytest.mark.parametrize("move", [move for move in MOVES if move.starts], ids=lambda move: move.statement)
def test_a_move_starts_only_where_the_table_says(move: Move) -> None:
    guards = _guarded_states(statement(move.statement))
    if guards is None:  # the caller has the rows locked and checked: another statement holds the guard
        guards = _guarded_states(statement(GUARDED_BY[move.statement]))
    assert guards <= {state.value for state in move.starts}


def _guarded_states(query: str) -> set[int] | None:
    guards = re.findall(r"\bstate(?: \+ 0)? (?:= (\d)|IN \(([\d, ]+)\))", query.replace("SET state =", ""))
    found = {int(number) for one, several in guards for number in re.findall(r"\d", one or several)}
    return found or None
