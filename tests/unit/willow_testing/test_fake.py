"""The fake in memory does what the broker would, as far as unit tests go."""

from typing import Any

import pytest
import willow_client
from willow_client import BadArgument, ClaimLost, Draft, GiveUp, Timeout, Unavailable, sync
from willow_testing import FakeMessage, FakeWillow

OF_THE_CONNECTION = {"flush", "forked", "opened", "options"}  # what only a real client has
INSIDE_OF_MESSAGES = {"begin", "finish_call", "flush", "is_settling", "let_go", "settling", "tell_when_lost"}


def public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


async def test_the_fake_has_what_clients_and_messages_have() -> None:
    fake = FakeWillow()
    await fake.post("q", "m")
    assert public(willow_client.Client) - OF_THE_CONNECTION - public(fake) == set()
    assert {name for name in public(sync.Client) - OF_THE_CONNECTION if not hasattr(fake.sync, name)} == set()
    assert public(willow_client.Message) - INSIDE_OF_MESSAGES - public(await fake.fetch("q")) == set()


async def test_posts_are_recorded_and_can_be_asked_for() -> None:
    fake = FakeWillow()
    async with fake as willow:
        await willow.post("orders", '{"order": 17, "lines": [1]}', priority=2, tags=["eu"])
        await willow.post_many("orders", ["a", Draft(body=b"\x00", dedupe="d"), Draft(body=b"\x00", dedupe="d")])
    [post] = fake.assert_posted("orders", matching={"order": 17})
    assert (post.tags, post.priority, post.index) == (("eu",), 2, 1)
    fake.assert_posted("orders", matching="a", times=1)
    fake.assert_posted("orders", matching=b"\x00", times=1)
    fake.assert_posted("orders", matching=lambda post: post.text == "a")
    fake.assert_nothing_posted("other")


async def test_a_failed_assertion_says_what_was_posted() -> None:
    fake = FakeWillow()
    await fake.post("orders", "here")
    with pytest.raises(AssertionError, match="orders: b'here'"):
        fake.assert_posted("orders", matching="there")
    with pytest.raises(AssertionError, match="Nothing was to be posted"):
        fake.assert_nothing_posted()


async def test_messages_are_taken_in_the_order_of_the_broker() -> None:
    fake = FakeWillow()
    for body, priority in (("low", 0), ("high", 5), ("low too", 0)):
        await fake.post("q", body, priority=priority)
    await fake.post("q", "later", delay=60)
    taken = [await fake.pop("q") for _ in range(4)]
    assert [message and message.text for message in taken] == ["high", "low", "low too", None]


async def test_a_handler_is_run_on_everything_that_waits_with_its_attempts() -> None:
    fake = FakeWillow(attempts=2)
    attempts: list[tuple[str, int]] = []

    async def handle(message: FakeMessage) -> str:
        attempts.append((message.text, message.attempt))
        if message.text == "hopeless":
            raise GiveUp("no")
        if message.text == "broken":
            raise ValueError
        return "done"

    for body in ("good", "hopeless", "broken"):
        await fake.post("q", body)
    assert await fake.run("q", handle) == 3
    assert attempts == [("good", 1), ("hopeless", 1), ("broken", 1), ("broken", 2)]
    assert fake.replies == {("q", 1): b"done"}
    assert await fake.result(fake.posted[0]) == b"done"
    with pytest.raises(Timeout):
        await fake.result(fake.posted[1])
    assert [post.text for post in fake.dead] == ["hopeless", "broken"]


async def test_a_message_is_released_without_an_attempt_and_ended_once() -> None:
    fake = FakeWillow()
    await fake.post("q", "m")
    message = await fake.fetch("q")
    assert message is not None
    await message.release()
    again = await fake.fetch("q")
    assert again is not None and again.attempt == 1
    await again.finish()
    with pytest.raises(ClaimLost, match="has ended already"):
        await again.finish()


async def test_what_goes_with_a_message_is_checked_and_handed_over() -> None:
    fake = FakeWillow()
    await fake.post("q", "m", headers={"tenant": "a"}, group="g", tags="eu")
    message = await fake.fetch("q")
    assert message is not None
    assert (message.headers, message.group, message.tags) == ({"tenant": "a"}, "g", ("eu",))
    for wrong in ({"priority": -1}, {"delay": "5"}, {"headers": {"a": 1}}, {"unique": ""}):
        with pytest.raises(BadArgument, match=next(iter(wrong))):
            await fake.post("q", "m", **wrong)  # type: ignore[arg-type]


async def test_a_unique_text_is_free_again_when_its_message_has_ended() -> None:
    fake = FakeWillow()
    first = await fake.post("q", "m", unique="u")
    assert (await fake.post("q", "m", unique="u")).duplicate
    message = await fake.fetch("q")
    assert message is not None
    assert (await fake.post("q", "m", unique="u")).duplicate
    await message.finish()
    again = await fake.post("q", "m", unique="u")
    assert not again.duplicate and again.index == first.index + 1
    assert await fake.cancel(again)
    assert not (await fake.post("q", "m", unique="u")).duplicate


async def test_messages_are_worked_on_as_with_a_broker() -> None:
    fake = FakeWillow(attempts=1)
    for receipt in await fake.post_to_all(["a", "b"], "m"):
        assert receipt.text == "m"
    async for message in fake.subscribe("a"):
        async with fake.working(message) as work:
            work.reply = "done"
    assert await fake.result((1, 1)) == b"done"
    with pytest.raises(ZeroDivisionError):
        async with fake.working((await fake.fetch_many("b", 5))[0]):
            raise ZeroDivisionError
    assert [post.queue for post in fake.dead] == ["b"]
    fake.services["shout"] = lambda request: request.text.upper()
    assert await fake.request("shout", "hello") == b"HELLO"
    with pytest.raises(Unavailable, match="whisper"):
        await fake.request("whisper", "hello")


async def test_the_blocking_fake_blocks_also_within_an_event_loop() -> None:
    fake = FakeWillow()
    fake.sync.post("q", "m")
    assert fake.sync.pop("q").text == "m"
    with pytest.raises(BadArgument):
        fake.sync.post("", "m")
    for body in ("finished", "worked on", "together"):
        fake.sync.post("q", body)
    fake.sync.fetch("q").finish(reply="done")
    with fake.sync.working(fake.sync.fetch("q")):
        pass
    fake.sync.finish_many(fake.sync.fetch_many("q", 5))
    assert len(fake.finished) == 4 and fake.replies["q", 2] == b"done"


def test_the_blocking_fake_runs_handlers() -> None:
    fake = FakeWillow()
    seen: list[str] = []
    with fake.sync.worker("q", lambda message: seen.append(message.text)):
        fake.sync.post("q", "m")
    assert seen == ["m"]
    fake.sync.post("q", "n")
    assert [message.text for message in fake.sync.subscribe("q")] == ["n"]
