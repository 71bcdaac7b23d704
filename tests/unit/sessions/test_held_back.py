"""Commands behind one whose result decides what they do."""

from collections.abc import Callable

import pytest

from delivery.protocol.commands import Finish, Post
from delivery.sessions.ordering import HeldBack
from delivery.sessions.under_way import UnderWay


@pytest.fixture
def under_way() -> UnderWay:
    return UnderWay()


@pytest.fixture
def held_back(under_way: UnderWay) -> HeldBack:
    return HeldBack(under_way)


def test_nothing_is_held_back_at_first(held_back: HeldBack) -> None:
    assert not held_back.holds(Post)


def test_exempt_kinds_do_not_wait(held_back: HeldBack) -> None:
    held_back.start(exempt=frozenset({Finish}))
    assert held_back.holds(Post)
    assert not held_back.holds(Finish)


def test_what_waits_is_under_way_and_runs_in_its_order(held_back: HeldBack, under_way: UnderWay) -> None:
    ran: list[int] = []
    held_back.start()
    for number in (1, 2, 3):
        held_back.add(lambda number=number: ran.append(number), 10)  # type: ignore[misc]
    assert (under_way.count, under_way.bytes) == (3, 30)
    held_back.stop()
    assert ran == [1, 2, 3]
    assert (under_way.count, under_way.bytes) == (0, 0)


def test_one_that_holds_back_keeps_its_place_before_those_behind_it(held_back: HeldBack, under_way: UnderWay) -> None:
    ran: list[str] = []

    def registers() -> None:
        ran.append("register")
        held_back.start()

    def posts(name: str) -> Callable[[], None]:
        return lambda: ran.append(name)

    held_back.start()
    for action in (posts("before"), registers, posts("behind"), posts("last")):
        held_back.add(action)
    held_back.stop()
    assert ran == ["before", "register"]
    assert under_way.count == 2
    held_back.stop()
    assert ran == ["before", "register", "behind", "last"]
    assert under_way.count == 0
