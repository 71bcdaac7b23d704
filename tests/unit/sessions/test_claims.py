"""What a session knows of the messages that it holds."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from delivery.moves.endings import Ending, FailRequest, ReleaseRequest
from delivery.protocol.errors import Code, WillowError
from delivery.sessions.claims import GIVEN_BACK_AT_ONCE, Claims

MINUTE = 60.0


class Holder:
    """Stands in for a session on a node."""

    session_id = 5
    client_name = "shop"

    def __init__(self) -> None:
        self.closed = False
        self.sent: list[Any] = []
        self.given_back: list[Ending] = []
        self.ended_later: list[int] = []
        self.jobs: list[Any] = []
        self.node = SimpleNamespace(
            engine=SimpleNamespace(end=self.given_back.append),
            sessions=SimpleNamespace(end_later=self.ended_later.append),
            run_job_soon=self.jobs.append,
        )

    def send_message(self, label: int | None, row: Any, *, finished: bool, left: int | None) -> None:
        self.sent.append((label, row.index))


class HeldInDatabase:
    """A connection that answers held_by.sql."""

    def __init__(self, *rows: tuple[int, int, int, float, str | None]) -> None:
        self._rows = rows

    async def execute(self, *statement: Any) -> "HeldInDatabase":
        return self

    async def fetchall(self) -> list[tuple[int, int, int, float, str | None]]:
        return list(self._rows)


def row(sequence: int, index: int, *, attempts: int = 1, work_timeout: float = MINUTE) -> Any:
    numbers = {"queue_id": 1, "sequence": sequence, "index": index, "attempts": attempts}
    return SimpleNamespace(**numbers, work_timeout=work_timeout, group_key=None)


@pytest.fixture
def holder() -> Holder:
    return Holder()


@pytest.fixture
def claims(holder: Holder) -> Claims:
    session: Any = holder
    return Claims(session)


def test_what_comes_after_the_socket_closed_is_given_back(claims: Claims, holder: Holder) -> None:
    holder.closed = True
    claims.hand_over(7, [row(1, 10)])
    assert holder.sent == []
    assert [(request.sequence, request.index, request.holder) for request in holder.given_back] == [(1, 10, 5)]
    assert isinstance(holder.given_back[0], ReleaseRequest)  # nobody has seen it


def test_a_claim_that_ends_frees_its_place_once(claims: Claims) -> None:
    freed: list[int] = []
    claims.hand_over(7, [row(1, 10)], lambda: freed.append(1))
    assert claims.let_go((1, 1), None) == 10
    assert claims.let_go((1, 1), 10) == 10
    assert freed == [1]


def test_an_index_of_an_earlier_message_with_the_same_id_ends_nothing(claims: Claims) -> None:
    claims.hand_over(7, [row(1, 10)])
    claims.let_go((1, 1), 9)
    assert len(claims) == 1


def test_a_new_message_with_the_id_of_an_old_claim_frees_the_old_place(claims: Claims) -> None:
    freed: list[int] = []
    claims.hand_over(7, [row(1, 10)], lambda: freed.append(10))
    claims.hand_over(7, [row(1, 11)], lambda: freed.append(11))
    assert freed == [10]
    assert len(claims) == 1


def test_a_request_is_sent_once_for_each_attempt(claims: Claims) -> None:
    assert claims.take_request(row(1, 10, attempts=1))
    assert not claims.take_request(row(1, 10, attempts=1))
    assert claims.take_request(row(1, 10, attempts=2))


def test_resumed_claims_were_not_sent_over_this_connection(claims: Claims) -> None:
    claims.resume([(1, 1, 10, MINUTE, None)])
    claims.hand_over(7, [row(2, 11)])
    assert [unsent.index for unsent in claims.not_sent_here([row(1, 10), row(2, 11)])] == [10]


def test_only_what_never_reached_the_client_is_given_back_as_unsent(claims: Claims, holder: Holder) -> None:
    claims.hand_over(7, [row(1, 10)])
    claims.give_back_unsent([row(1, 10), row(2, 11)])
    assert [request.index for request in holder.given_back] == [11]
    assert isinstance(holder.given_back[0], ReleaseRequest)


def test_a_session_is_ended_later_if_the_database_could_not_be_told(claims: Claims, holder: Holder) -> None:
    claims.hand_over(7, [row(1, 10)])
    claims.give_back_all(done=lambda: None)
    [request] = holder.given_back
    assert isinstance(request, FailRequest)
    request.answer(WillowError(Code.NO_OBJECT, "1/1", "The message 1/1 is not claimed."))
    assert holder.ended_later == []
    request.answer(WillowError(Code.UNAVAILABLE, "storage", "The storage cannot be reached."))
    assert holder.ended_later == [5]


def test_a_session_ends_when_the_last_of_its_claims_has_failed(claims: Claims, holder: Holder) -> None:
    """Its id is free from then on: a client that comes back finds no claims that are about to fail."""
    ended: list[str] = []
    claims.hand_over(7, [row(1, 10), row(2, 11)])
    claims.give_back_all(done=lambda: ended.append("session"))
    first, last = holder.given_back
    first.answer(None)
    assert ended == []
    last.answer(WillowError(Code.NO_OBJECT, "1/2", "The message 1/2 is not claimed."))
    assert ended == ["session"]


def test_a_session_that_holds_nothing_ends_at_once(claims: Claims) -> None:
    ended: list[str] = []
    claims.give_back_all(done=lambda: ended.append("session"))
    assert ended == ["session"]


async def test_an_overdue_claim_that_the_reaper_ended_frees_its_place(claims: Claims, holder: Holder) -> None:
    freed: list[int] = []
    claims.hand_over(7, [row(1, 10, work_timeout=0.0)], lambda: freed.append(10))
    claims.hand_over(7, [row(2, 11, work_timeout=0.0)], lambda: freed.append(11))
    claims.hand_over(7, [row(3, 12)], lambda: freed.append(12))
    claims.look_after_overdue()
    [check] = holder.jobs
    await check(HeldInDatabase((1, 2, 11, 0.0, None)))
    assert freed == [10]


def test_claims_in_their_time_are_not_looked_up(claims: Claims, holder: Holder) -> None:
    claims.hand_over(7, [row(1, 10)])
    claims.look_after_overdue()
    assert holder.jobs == []


async def test_what_an_operator_ended_is_forgotten_before_its_time(claims: Claims) -> None:
    freed: list[int] = []
    claims.hand_over(7, [row(1, 10)], lambda: freed.append(10))
    await claims.forget_ended(HeldInDatabase())  # type: ignore[arg-type]
    assert freed == [10]


async def test_very_many_are_given_back_in_slices(claims: Claims, holder: Holder) -> None:
    held, ended = 2 * GIVEN_BACK_AT_ONCE + 1, list[bool]()
    claims.hand_over(7, [row(sequence, sequence) for sequence in range(1, held + 1)])
    claims.give_back_all(done=lambda: ended.append(True))
    answered: list[Ending] = []
    while holder.given_back:
        assert not ended and len(holder.given_back) <= GIVEN_BACK_AT_ONCE
        some = list(holder.given_back)
        holder.given_back.clear()
        for request in some:
            request.answer(None)
        answered += some
        await asyncio.sleep(0)
    assert (len(answered), ended) == (held, [True])
