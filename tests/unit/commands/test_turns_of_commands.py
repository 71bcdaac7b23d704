"""How many commands of one connection are taken before it is the others' turn."""

from types import SimpleNamespace
from typing import Any

import pytest

import delivery.commands
from delivery.commands import TURN_SECONDS, TURN_SECONDS_ALONE, Commands
from delivery.protocol.errors import Code, FrameError, WillowError
from delivery.sessions.ordering import HeldBack
from delivery.sessions.under_way import UnderWay
from delivery.storage.presence import Presence

MANY = 100


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Its only element is the time."""
    now = [1000.0]
    monkeypatch.setattr(delivery.commands.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(delivery.commands, "clients_here", Presence())
    return now


def taken_in_a_turn(clock: list[float], seconds_each: float) -> int:
    refused: list[WillowError] = []

    def refuse(label: int | None, error: WillowError) -> None:
        refused.append(error)
        clock[0] += seconds_each

    session: Any = SimpleNamespace(
        kicked=False, steps=None, role=None, heard=lambda: None, held_back=HeldBack(UnderWay()), refuse=refuse
    )
    commands = (FrameError(Code.BAD_REQUEST, "label", "No.") for _ in range(MANY))
    was_all = Commands(SimpleNamespace()).handle(session, commands)  # type: ignore[arg-type]
    assert was_all == (len(refused) == MANY)
    return len(refused)


def test_a_client_that_is_alone_has_its_whole_frame_taken_at_once(clock: list[float]) -> None:
    delivery.commands.clients_here.note("it")
    assert taken_in_a_turn(clock, TURN_SECONDS_ALONE / (MANY + 1)) == MANY
    assert taken_in_a_turn(clock, TURN_SECONDS_ALONE / 2) == 2, "somebody may come"


def test_beside_others_it_has_shorter_turns(clock: list[float]) -> None:
    delivery.commands.clients_here.note("somebody else")
    delivery.commands.clients_here.note("it")
    assert taken_in_a_turn(clock, TURN_SECONDS / 2) == 2
