"""What goes along with a message: headers, its group, and the text of which only one may live."""

from typing import Any

import pytest
from willow_client import BadArgument, Client, Draft, WillowError
from willow_client.arguments import check_post

from tests.support.cluster import PATIENCE


async def test_headers_and_group_arrive_with_the_message(client: Client, queue: str) -> None:
    await client.post(queue, "m", headers={"traceparent": "00-1-2-01"}, group="account 7")
    await client.post_many(queue, [Draft(body="n", headers={"a": "b"})])
    first = await client.fetch(queue, block_timeout=PATIENCE)
    second = await client.pop(queue, block_timeout=PATIENCE)
    assert first is not None and second is not None
    assert (first.headers, first.group) == ({"traceparent": "00-1-2-01"}, "account 7")
    assert (second.headers, second.group) == ({"a": "b"}, None)
    await first.finish()


async def test_a_unique_text_is_posted_once_while_its_message_lives(client: Client, queue: str) -> None:
    first = await client.post(queue, "m", unique="invoice 7")
    again = await client.post(queue, "m", unique="invoice 7")
    assert (again.index, first.duplicate, again.duplicate) == (first.index, False, True)
    await client.pop(queue, block_timeout=PATIENCE)
    assert (await client.post(queue, "m", unique="invoice 7")).duplicate is False


@pytest.mark.parametrize("extras", [{"headers": {"a": 1}}, {"headers": "a"}, {"group": ""}, {"unique": "u" * 201}])
async def test_what_cannot_go_along_is_named(client: Client, queue: str, extras: dict[str, object]) -> None:
    with pytest.raises(BadArgument, match=f"`{next(iter(extras))}`"):
        await client.post(queue, "m", **extras)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("extras", "is_right"),
    [
        ({"headers": {"a" * 128: "x" * 4096}}, True),
        ({"headers": {"a.b-c_0": ""}}, True),
        ({"headers": {str(number): "x" for number in range(64)}}, True),
        ({"headers": dict.fromkeys("abcd", "x" * 4095)}, True),
        ({"headers": {"a" * 129: "x"}}, False),
        ({"headers": {"A": "x"}}, False),
        ({"headers": {"": "x"}}, False),
        ({"headers": {"willow-a": "x"}}, False),
        ({"headers": {"a": "\0"}}, False),
        ({"headers": {"a": "ä" * 2049}}, False),
        ({"headers": {"a": "\ud800"}}, False),
        ({"headers": {str(number): "x" for number in range(65)}}, False),
        ({"headers": dict.fromkeys("abcd", "x" * 4095) | {"e": ""}}, False),
        *(({field: "\ud800"}, False) for field in ("key", "dedupe", "group", "unique")),
        ({"tags": ["\ud800"]}, False),
    ],
)
async def test_what_is_kept_for_later_is_checked_as_the_broker_does(
    client: Client, queue: str, extras: dict[str, Any], is_right: bool
) -> None:
    if is_right:
        check_post(queue, extras)
        await client.post(queue, "m", **extras)
        return
    with pytest.raises(BadArgument, match=next(iter(extras))):
        check_post(queue, extras)
    with pytest.raises(WillowError):
        await client.post(queue, "m", **extras)
