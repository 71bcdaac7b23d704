"""A command is under way from its beginning to its one answer."""

import asyncio
from typing import Any

import pytest

from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Frame, NoMessage
from delivery.sessions.under_way import Reply, UnderWay

ERROR = WillowError(Code.NO_OBJECT, "orders", "There is no queue orders.")


class Client:
    def __init__(self) -> None:
        self.under_way = UnderWay()
        self.told: list[Any] = []

    def send(self, frame: Frame) -> None:
        self.told.append(frame)

    def refuse(self, label: int | None, error: WillowError) -> None:
        self.told.append((label, error))

    def let_go_of(self, size: int) -> None:
        self.told.append(size)


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda reply: reply.send(NoMessage(7)), [NoMessage(7)]),
        (lambda reply: reply.refuse(ERROR), [(7, ERROR)]),
        (lambda reply: reply.end(), []),
    ],
    ids=["sent", "refused", "ended"],
)
def test_whatever_its_answer_is_a_command_is_no_longer_under_way(client: Client, answer: Any, told: list[Any]) -> None:
    reply = Reply(client, 7)
    assert client.under_way.count == 1
    answer(reply)
    assert client.under_way.count == 0
    assert client.told == told


def test_what_a_command_brings_is_kept_until_it_is_answered(client: Client) -> None:
    reply = Reply(client, 7, 100)
    assert client.under_way.bytes == 100
    reply.end()
    assert client.under_way.bytes == 0
    assert client.told == [100]


def test_a_second_answer_does_not_count_another_command_as_over(client: Client) -> None:
    first, _second = Reply(client, 1), Reply(client, 2)
    first.end()
    first.end()
    assert client.under_way.count == 1


async def test_a_connection_with_too_many_commands_under_way_waits_for_one_to_end(client: Client) -> None:
    reply, _other = Reply(client, 1), Reply(client, 2)
    room = asyncio.create_task(client.under_way.wait_below(2, most_bytes=1))
    await asyncio.sleep(0)
    assert not room.done()
    reply.end()
    await room


async def test_a_connection_with_too_many_bytes_under_way_waits_for_some_to_be_stored(client: Client) -> None:
    client.under_way.began(1000)
    room = asyncio.create_task(client.under_way.wait_below(2, most_bytes=1000))
    await asyncio.sleep(0)
    assert not room.done()
    client.under_way.ended(1000)
    await room
