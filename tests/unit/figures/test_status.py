"""A status is made anew for each call, unless there is very much to count."""

import itertools
from typing import Any

import pytest

from delivery.figures import status


def counted(delayed: int) -> dict[str, Any]:
    return {"totals": {"delayed": delayed, "in_flight": 0}}


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask as often as there are statuses, on a machine on which each of them takes ages."""
    clock = itertools.count(step=10)
    monkeypatch.setattr(status.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(status, "_made", {})

    def answers(*made: Any) -> list[Any]:
        left = iter(made)
        monkeypatch.setattr(status, "_read", lambda name: next(left))
        return [status.status_of("orders") for _ in made]

    return answers


def test_a_slow_machine_gives_no_old_status(ask: Any) -> None:
    made = [None, counted(0), counted(status.MANY_COUNTED), counted(1)]
    assert ask(*made) == made


def test_what_took_long_to_count_is_given_out_again(ask: Any) -> None:
    many = counted(status.MANY_COUNTED + 1)
    assert ask(many, counted(0)) == [many, many]
