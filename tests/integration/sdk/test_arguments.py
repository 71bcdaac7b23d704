"""Arguments are checked where they are given, before anything is sent."""

from typing import Any

import pytest
from willow_client import BadArgument, Client, WillowError


async def test_a_single_text_is_one_tag(client: Client, queue: str) -> None:
    await client.post(queue, "m", tags="eu")
    message = await client.fetch(queue, tags="eu")
    assert message is not None and message.tags == ("eu",)
    await message.finish()


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("queue", {"queue": ""}),
        ("queue", {"queue": "grün"}),
        ("queue", {"queue": None}),
        ("tags", {"tags": [5]}),
        ("tags", {"tags": [""]}),
        ("priority", {"priority": -1}),
        ("priority", {"priority": "high"}),
        ("delay", {"delay": -1}),
        ("delay", {"delay": float("nan")}),
        ("ttl", {"ttl": "soon"}),
        ("key", {"key": ""}),
        ("dedupe", {"dedupe": "x" * 501}),
        ("wait", {"wait": "later"}),
        ("notify", {"notify": ["later"]}),
        ("timeout", {"timeout": 0}),
    ],
)
async def test_a_wrong_argument_of_a_post_is_named(
    client: Client, queue: str, texts_sent: list[bytes], field: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(BadArgument) as refusal:
        await client.post(**{"queue": queue, "body": "m", **arguments})
    assert refusal.value.key == field
    assert "None" not in str(refusal.value) or arguments.get(field) is None
    assert isinstance(refusal.value, WillowError) and isinstance(refusal.value, ValueError)
    assert not texts_sent


async def test_other_calls_check_theirs(client: Client, queue: str) -> None:
    with pytest.raises(BadArgument, match="match"):
        await client.fetch(queue, match="some")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="in_flight"):
        client.subscribe(queue, in_flight=0)
    with pytest.raises(BadArgument, match="count"):
        await client.fetch_many(queue, 0)
    with pytest.raises(BadArgument, match="no such setting"):
        await client.create(queue, retries=5)  # type: ignore[call-arg]
    with pytest.raises(BadArgument, match="heartbeat_timeout"):
        await client.create(queue, heartbeat_timeout=0)
    with pytest.raises(BadArgument, match="concurrency"):
        client.worker(queue, print, concurrency=0)
    with pytest.raises(BadArgument, match="list of names"):
        await client.post_to_all("abc", "m")
