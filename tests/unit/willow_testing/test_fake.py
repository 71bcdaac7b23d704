"""The fake in memory does what the broker would, as far as unit tests go."""

import pytest
from willow_client import BadArgument, Draft, GiveUp, Timeout
from willow_testing import FakeMessage, FakeWillow


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
    with pytest.raises(AssertionError, match="has ended already"):
        await again.finish()


def test_the_blocking_fake_has_the_same_methods() -> None:
    fake = FakeWillow()
    fake.sync.post("q", "m")
    assert fake.sync.pop("q").text == "m"
    with pytest.raises(BadArgument):
        fake.sync.post("", "m")
