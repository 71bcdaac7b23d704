"""Why a message or a queue does not move, said of real ones with real consumers."""

import asyncio
from typing import Any

from delivery.inspection.causes import Cause
from delivery.inspection.diagnosis import why_message, why_queue
from delivery.inspection.tag_explainer import explain_tags
from delivery.inspection.timeline import message_timeline
from delivery.operating.queues import queue_pause
from tests.acceptance.operating.chosen import message_id, queue_of
from tests.acceptance.operating.conftest import Act
from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect
from tests.support.keys import make_key
from tests.support.operators import OPERATOR


async def codes_become(act: Act, codes: list[str], ask: Any) -> list[Cause]:
    """Readers are known as of their node's last heartbeat."""
    causes: list[Cause] = await act(ask)
    async with asyncio.timeout(PATIENCE):
        while [cause.code for cause in causes] != codes:
            await asyncio.sleep(LOOK_SECONDS)
            causes = await act(ask)
    return causes


async def test_nobody_waits_for_it(act: Act, client: Client, queue: str) -> None:
    stored = await client.post(queue, "m")
    await codes_become(act, ["no_reader"], lambda: why_message(message_id(stored)))
    await codes_become(act, ["no_reader"], lambda: why_queue(queue_of(stored["shard"])))


async def test_it_is_paused_and_behind_others(act: Act, client: Client, other: Client, queue: str) -> None:
    stored = [await client.post(queue, "m", priority=priority) for priority in (0, 0, 5)]
    shard = stored[0]["shard"]
    await act(lambda: queue_pause(queue=queue_of(shard), by=OPERATOR))
    await other.subscribe(queue)
    causes = await codes_become(act, ["paused", "behind"], lambda: why_message(message_id(stored[1])))
    assert causes[1].facts == {"messages": 2, "higher_priority": 1, "is_partial": False}
    assert "behind 2 ready messages: 1 of higher priority, 1 older" in causes[1].sentence


async def test_it_is_delayed(act: Act, client: Client, queue: str) -> None:
    stored = await client.post(queue, "m", delay=3600)
    [cause] = await act(why_message, message_id(stored))
    assert cause.code == "delayed" and "delayed until" in cause.sentence
    await codes_become(act, ["delayed", "no_reader"], lambda: why_queue(queue_of(stored["shard"])))


async def test_it_is_claimed_by_somebody_until_some_time(act: Act, client: Client, queue: str, name: str) -> None:
    await client.register(name)
    stored = await client.post(queue, "m")
    await client.fetch(queue)
    [cause] = await act(why_message, message_id(stored))
    assert cause.code == "claimed"
    assert f"claimed by {name} (session " in cause.sentence and f"on {client.node}) until " in cause.sentence


async def test_all_readers_are_at_their_bound(act: Act, client: Client, other: Client, queue: str) -> None:
    label = await client.subscribe(queue, in_flight=1)
    stored = await other.post_all(queue, ["a", "b"])
    [held] = await client.messages(label, 1)
    waiting = next(one for one in stored if one["index"] != held["index"])
    await codes_become(act, ["in_flight_bound"], lambda: why_message(message_id(waiting)))
    await client.finish(held)
    [second] = await client.messages(label, 1)
    await client.finish(second)
    await codes_become(act, ["empty"], lambda: why_queue(queue_of(held["shard"])))


async def test_its_subscriber_is_away(act: Act, connect: Connect, client: Client, queue: str, name: str) -> None:
    away = await connect()
    await away.register(name)
    await away.subscribe(queue)
    await away.close()
    stored = await client.post(queue, "m")
    causes = await codes_become(act, ["no_reader", "subscriber_away"], lambda: why_queue(queue_of(stored["shard"])))
    assert name in causes[1].sentence


async def test_the_queue_has_all_in_flight_that_may_be(act: Act, client: Client, queue: str, name: str) -> None:
    await client.register(name)
    await client.create(queue, max_in_flight=2)
    await client.post_all(queue, ["a", "b", "c"])
    held = await client.fetch_all(queue, 2)
    causes: list[Cause] = await act(lambda: why_queue(queue_of(held[0]["shard"])))
    assert causes[0].code == "max_in_flight"
    assert causes[0].sentence.startswith(f"2 of 2 are in flight: 2 with {name} (session ")


async def test_the_rate_allows_the_next_one_later(act: Act, client: Client, queue: str) -> None:
    await client.create(queue, rate=0.01, burst=1)
    await client.post_all(queue, ["a", "b"])
    held = await client.fetch(queue)
    causes: list[Cause] = await act(lambda: why_queue(queue_of(held["shard"])))
    assert causes[0].code == "rate" and 0 < causes[0].facts["seconds"] <= 100
    assert causes[0].sentence.startswith("The rate allows the next one in ")


async def test_its_group_is_busy(act: Act, client: Client, queue: str, name: str) -> None:
    await client.register(name)
    await client.create(queue, group_in_flight=1)
    stored = await client.post_all(queue, ["a", "b"], group="g")
    held = await client.fetch(queue)
    [cause] = await act(why_message, message_id(stored[1]))
    assert cause.code == "group_in_flight"
    assert cause.sentence.startswith("Group g has 1 of 1 in flight since ")
    assert f"index {held['index']} with {name} (session " in cause.sentence
    of_queue: list[Cause] = await act(lambda: why_queue(queue_of(held["shard"])))
    assert of_queue[0].sentence == cause.sentence
    await client.fail(held, delay=300)
    [cause] = await act(why_message, message_id(stored[1]))
    assert f"Group g waits for index {held['index']}, which failed and is tried again " in cause.sentence
    timeline = await act(message_timeline, message_id(stored[1]))
    assert timeline[-1].sentence == "Waits for others of its group g."


async def test_a_group_that_is_tried_again_keeps_its_place(act: Act, client: Client, queue: str) -> None:
    await client.create(queue, group_in_flight=2)
    stored = await client.post_all(queue, ["a", "b", "c"], group="g")
    held = await client.fetch_all(queue, 2)
    await client.fail(held[0], delay=300)
    [cause] = await act(why_message, message_id(stored[2]))
    assert cause.blocks and cause.sentence.startswith("Group g has 1 of 2 in flight since ")
    assert f"Group g waits for index {held[0]['index']}, which failed and is tried again " in cause.sentence


async def test_a_busy_group_is_no_reason_for_others(act: Act, client: Client, queue: str) -> None:
    await client.create(queue, group_in_flight=1)
    await client.post_all(queue, ["a", "b"], group="g")
    await client.fetch(queue)
    free = await client.post(queue, "c")
    causes: list[Cause] = await act(why_message, message_id(free))
    assert "group_in_flight" not in [cause.code for cause in causes]


async def test_one_behind_others_of_its_group_waits_for_what_they_wait_for(
    act: Act, client: Client, queue: str
) -> None:
    await client.create(queue, group_in_flight=1)
    stored = await client.post_all(queue, ["a", "b"], group="g")
    await act(lambda: queue_pause(queue=queue_of(stored[0]["shard"]), by=OPERATOR))
    causes: list[Cause] = await act(why_message, message_id(stored[1]))
    assert [causes[0].code, causes[-1].code] == ["paused", "group_in_flight"]
    assert causes[-1].sentence == "Group g has others that go first."


async def test_a_holder_is_named_by_its_key(act: Act, connect: Connect, broker: Cluster, queue: str) -> None:
    key = make_key(broker, {"*": {"post", "fetch", "create"}})
    client = await connect(headers=key.headers)
    await client.create(queue, group_in_flight=1, max_in_flight=1)
    stored = await client.post_all(queue, ["a", "b"], group="g")
    await client.fetch(queue)
    causes: list[Cause] = await act(lambda: why_queue(queue_of(stored[0]["shard"])))
    assert [cause.code for cause in causes][:2] == ["max_in_flight", "group_in_flight"]
    assert all(f"with {key.client} (session " in cause.sentence for cause in causes[:2])


async def test_it_has_ended(act: Act, client: Client, queue: str) -> None:
    stored = await client.post(queue, "m")
    await client.finish(await client.fetch(queue))
    [cause] = await act(why_message, message_id(stored))
    assert (cause.code, cause.facts["outcome"]) == ("ended", "finished")


async def test_tags_are_explained_for_every_queue_of_the_name(act: Act, client: Client, queue: str) -> None:
    for tags in ([], ["eu"], ["eu", "fast"]):
        await client.create(queue, tags=tags)

    async def explained(tags: list[str], match: Any) -> dict[str, str]:
        found = await act(explain_tags, name=queue, tags=tags, match=match)
        return {",".join(one.queue.tags): f"{one.matches}: {one.reason}" for one in found}

    assert await explained(["eu"], "exact") == {
        "eu": "True: Its tags are exactly eu.",
        "": "False: It lacks eu.",
        "eu,fast": "False: It also has fast.",
    }
    assert (await explained(["eu", "fast"], "strict"))["eu"] == "False: It lacks fast."
    assert (await explained(["slow"], "any"))["eu"] == "False: It has none of slow."
    assert (await explained(["fast"], "combined"))["eu,fast"] == "True: It has fast."


async def test_a_timeline_tells_a_dead_letters_life(act: Act, client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=2)
    await client.post(queue, "m")
    for error in ("first", "second"):
        await client.fail(await client.fetch(queue, block_timeout=30), error=error, delay=0)
    letter = await client.fetch(f"{queue}.dead")
    events = await act(message_timeline, message_id(letter))
    assert [event.what for event in events] == [
        "posted", "assigned", "retried", "assigned", "dead", "posted", "claimed",
    ]  # fmt: skip
    assert "first" in events[2].sentence and "second" in events[4].sentence
