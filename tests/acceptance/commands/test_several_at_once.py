"""`left`: how many messages of an answer follow."""

import pytest

from tests.support.client import Client
from tests.support.fixtures import Connect


@pytest.mark.parametrize("command", ["fetch", "pop"])
@pytest.mark.parametrize(("posted", "count"), [(3, 3), (3, 10), (5, 2), (1, 1)])
async def test_each_message_says_how_many_follow(
    client: Client, queue: str, command: str, posted: int, count: int
) -> None:
    await client.post_all(queue, [str(number) for number in range(posted)])
    label = await client.begin(command, queue, count=count)
    given = min(posted, count)
    messages = await client.messages(label, given)
    assert [message["left"] for message in messages] == list(range(given - 1, -1, -1))
    await client.finds_nothing(f"{queue}-other")
    assert client.unread(label) == []


@pytest.mark.parametrize("command", ["fetch", "pop"])
async def test_an_answer_of_more_than_one_batch(client: Client, queue: str, command: str) -> None:
    await client.post_all(queue, [str(number) for number in range(1300)])
    label = await client.begin(command, queue, count=2000)
    messages = await client.messages(label, 1300)
    assert [message["left"] for message in messages] == list(range(1299, -1, -1))
    assert [message["body"] for message in messages] == [str(number) for number in range(1300)]


@pytest.mark.parametrize("command", ["fetch", "pop"])
async def test_an_answer_of_more_bytes_than_one_statement_brings(client: Client, queue: str, command: str) -> None:
    bodies = [str(number) * 900_000 for number in range(9)]
    await client.post_all(queue, bodies)
    label = await client.begin(command, queue, count=20)
    messages = await client.messages(label, 9)
    assert [message["left"] for message in messages] == list(range(8, -1, -1))
    assert [message["body"] for message in messages] == bodies


async def test_over_several_queues(client: Client, queue: str) -> None:
    for tag in ("a", "b"):
        await client.post_all(queue, ["1", "2"], tags=[tag])
    for match in ("all", "any"):
        label = await client.begin("fetch", queue, count=2, match=match, tags=["a", "b"] if match == "any" else [])
        assert [message["left"] for message in await client.messages(label, 2)] == [1, 0]


@pytest.mark.parametrize("command", ["fetch", "pop"])
async def test_a_message_that_comes_while_it_waits(client: Client, other: Client, queue: str, command: str) -> None:
    timeout = {"block_timeout" if command == "fetch" else "timeout": 30}
    label = await client.begin_waiting(command, queue, count=5, **timeout)
    await other.begin("post", queue, message="m")
    await client.expect(label, body="m", left=0)


async def test_without_a_count_there_is_none(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    assert "left" not in await client.fetch(queue)
    assert "left" not in await client.pop(queue)
    label = await client.subscribe(queue)
    assert "left" not in (await client.messages(label, 1))[0]


# work_timeout, and who gets all this in bincode


async def test_a_claim_says_how_long_it_lasts(client: Client, queue: str) -> None:
    await client.create(queue, heartbeat_timeout=12.5)
    await client.post_all(queue, ["1", "2", "3", "4"])
    assert (await client.fetch(queue))["work_timeout"] == 12.5
    assert (await client.fetch(queue, work_timeout=7))["work_timeout"] == 7.0
    label = await client.subscribe(queue, work_timeout=60, in_flight=1)
    assert (await client.messages(label, 1))[0]["work_timeout"] == 60.0
    assert "work_timeout" not in await client.pop(queue)


async def test_a_claim_that_is_made_as_the_message_is_stored_says_it_too(
    client: Client, other: Client, queue: str
) -> None:
    await client.create(queue, heartbeat_timeout=12.5)
    label = await client.begin_waiting("fetch", queue, block_timeout=30)
    await other.post(queue, "m")
    await client.expect(label, body="m", work_timeout=12.5)


async def test_a_message_of_a_stream_says_it_too(client: Client, queue: str, name: str) -> None:
    await client.create(queue, kind="stream", heartbeat_timeout=12.5)
    await client.register(name)
    label = await client.subscribe(queue)
    await client.post(queue, "m")
    await client.expect(label, body="m", work_timeout=12.5)


@pytest.mark.parametrize(
    "how", [{"headers": {"Binary": "true", "Extras": "true"}}, {"binary": "true", "extras": "true"}]
)
async def test_binary_clients_get_it_if_they_asked_for_extras(
    connect: Connect, client: Client, queue: str, how: dict[str, str]
) -> None:
    await client.post_all(queue, ["1", "2"])
    reader = await connect(**how)
    label = await reader.begin("fetch", queue, count=2)
    messages = await reader.messages(label, 2)
    assert [(message["left"], message["work_timeout"]) for message in messages] == [(1, 300.0), (0, 300.0)]
    assert all(isinstance(frame, bytes) for frame in reader.received)


async def test_other_binary_clients_get_the_plain_variants(connect: Connect, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    reader = await connect(binary="true")
    message = await reader.expect(await reader.begin("fetch", queue, count=1), type="message")
    assert not {"left", "work_timeout"} & set(message)
    [_, data] = reader.received
    assert isinstance(data, bytes) and data[:4] == b"\x02\0\0\0"


# duplicate


@pytest.mark.parametrize("how", [{}, {"binary": "true", "extras": "true"}])
async def test_notices_of_a_repeated_post_say_so(connect: Connect, queue: str, how: dict[str, str]) -> None:
    client = await connect(**how)
    stages = ["ready", "write", "sync"]
    first = await client.begin("post", queue, message="m", dedupe="d", notify=stages)
    notices = [await client.expect(first, notice=stage) for stage in stages]
    assert not any("duplicate" in notice for notice in notices)
    second = await client.begin("post", queue, message="m", dedupe="d", notify=stages)
    repeated = [await client.expect(second, notice=stage, duplicate=True) for stage in stages]
    assert [notice["index"] for notice in repeated[1:]] == [notice["index"] for notice in notices[1:]]


async def test_of_two_in_one_frame_the_second_is_the_duplicate(client: Client, queue: str) -> None:
    post = {"type": "post", "queue": queue, "message": "m", "dedupe": "d", "notify": ["sync"]}
    await client.send(post | {"label": 101}, post | {"label": 102})
    assert "duplicate" not in await client.expect(101, notice="sync")
    await client.expect(102, notice="sync", duplicate=True)
