"""Where posts go: several queues, tags, priority, keys, delay, ttl, dedupe, full and paused queues."""

import asyncio

from tests.support.client import Client, claim
from tests.support.cluster import PATIENCE, Cluster
from willow_site.processes import wait_until


async def test_a_post_to_several_queues_is_stored_in_each_and_its_notices_say_where(client: Client, queue: str) -> None:
    names = [f"{queue}-a", f"{queue}-b"]
    label = await client.begin("post", names, message="m", notify=["ready", "write", "sync", "finish"])
    for name in names:
        assert await client.next(label) == {"type": "notice", "label": label, "notice": "ready", "queue": name}
    told = [await client.next(label) for _ in range(4)]
    assert sorted((notice["queue"], notice["notice"]) for notice in told) == [
        (name, stage) for name in names for stage in ("sync", "write")
    ]
    assert len({notice["shard"] for notice in told}) == 2
    for name in names:
        await client.finish(await client.fetch(name))
        await client.expect(label, notice="finish", queue=name)


async def test_a_post_to_several_queues_is_stored_in_none_if_one_refuses_it(client: Client, queue: str) -> None:
    roomy, full = f"{queue}-roomy", f"{queue}-full"
    await client.create(full, max_length=1)
    await client.post(full, "1")
    label = await client.begin("post", [roomy, full], message="2", notify=["sync"])
    await client.expect(label, type="error", code="Overloaded", key=full)
    await client.finds_nothing(roomy)


async def test_a_post_to_several_new_queues_is_not_overtaken(client: Client, queue: str) -> None:
    await client.post(f"{queue}-a", "0")  # one that the broker knows, and one that it does not
    both, one = [f"{queue}-a", f"{queue}-b"], f"{queue}-a"
    await client.send(*({"type": "post", "queue": names, "message": body} for names, body in [(both, "1"), (one, "2")]))
    await client.send({"type": "post", "queue": one, "message": "3"})
    assert [message["body"] for message in await client.fetch_all(one, 4)] == ["0", "1", "2", "3"]


async def test_a_queue_that_is_named_twice_gets_the_message_once(client: Client, queue: str) -> None:
    label = await client.begin("post", [queue, queue], message="m", notify=["sync"])
    await client.expect(label, notice="sync")
    await client.fetch(queue)
    await client.finds_nothing(queue)


async def test_tags_make_another_queue_whatever_their_order_and_repeats(client: Client, queue: str) -> None:
    tagged = await client.post(queue, "tagged", tags=["b", "a", "b"])
    plain = await client.post(queue, "plain")
    assert tagged["shard"] != plain["shard"]
    message = await client.fetch(queue, tags=["a", "a", "b"])
    assert (message["body"], message["tags"], message["shard"]) == ("tagged", ["a", "b"], tagged["shard"])
    assert (await client.fetch(queue, match="exact"))["body"] == "plain"


async def test_higher_priorities_go_first_and_equal_ones_in_the_order_of_posting(client: Client, queue: str) -> None:
    for body, priority in (("a", 0), ("b", 5), ("c", 2**32 - 1), ("d", 5), ("e", 0), ("f", 1)):
        await client.post(queue, body, priority=priority)
    messages = [await client.fetch(queue), *await client.fetch_all(queue, 5)]
    assert "".join(message["body"] for message in messages) == "cbdfae"
    assert [message["priority"] for message in messages] == [2**32 - 1, 5, 5, 1, 0, 0]


async def test_an_urgent_message_overtakes_what_is_left_of_a_queue(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    assert (await client.fetch(queue))["body"] == "1"
    await client.post(queue, "urgent", priority=1)
    assert [message["body"] for message in await client.fetch_all(queue, 3)] == ["urgent", "2", "3"]


# keys


async def test_a_key_replaces_the_waiting_message_in_its_place(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, updatable=True)
    first = await client.post(queue, "old", key="k")
    await client.post(queue, "between")
    posted_at = broker.query("SELECT posted_at FROM delivery_message WHERE queue_id = %s", first["shard"])
    second = await client.post(queue, "new", key="k")
    assert (second["sequence"], second["index"]) == (first["sequence"], first["index"])
    assert posted_at == broker.query(
        "SELECT posted_at FROM delivery_message WHERE queue_id = %s ORDER BY index", first["shard"]
    )
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["new", "between"]


async def test_a_key_replaces_in_place_within_one_frame(client: Client, queue: str) -> None:
    await client.create(queue, updatable=True)
    bodies = [("old", "k"), ("between", None), ("new", "k")]
    posts = [
        {"type": "post", "queue": queue, "message": body, "key": key, "label": label, "notify": ["sync"]}
        for label, (body, key) in enumerate(bodies, 100)
    ]
    await client.send(*posts)
    indexes = [(await client.expect(post["label"], notice="sync"))["index"] for post in posts]
    assert indexes == [1, 2, 1]
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["new", "between"]


async def test_a_key_leaves_claimed_messages_and_other_keys_alone(client: Client, queue: str) -> None:
    await client.create(queue, updatable=True)
    await client.post(queue, "claimed", key="k")
    claimed = await client.fetch(queue)
    await client.post(queue, "waiting", key="k")
    await client.post(queue, "other", key="l")
    await client.finish(claimed)
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["waiting", "other"]


async def test_keys_mean_nothing_on_a_queue_that_is_not_updatable(client: Client, queue: str) -> None:
    await client.post(queue, "1", key="k")
    await client.post(queue, "2", key="k")
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["1", "2"]


# delay and time to live


async def test_a_delayed_message_is_held_back(client: Client, queue: str) -> None:
    await client.post(queue, "later", delay=3600)
    await client.finds_nothing(queue)


async def test_delayed_messages_come_when_they_are_due(client: Client, queue: str) -> None:
    await client.post(queue, "second", delay=3)  # not before the other one is posted and fetched
    await client.post(queue, "first", delay=0.1)
    bodies = [(await client.fetch(queue, block_timeout=60))["body"] for _ in range(2)]
    assert bodies == ["first", "second"]


async def test_a_message_past_its_time_to_live_is_not_handed_out(client: Client, queue: str) -> None:
    await client.post(queue, "m", ttl=0)
    await client.finds_nothing(queue)


async def test_a_message_past_its_time_to_live_goes_to_the_dead_letter_queue(
    broker: Cluster, client: Client, queue: str
) -> None:
    label = await client.begin("post", queue, message="m", ttl=0.1, notify=["drop"])
    dead = await client.fetch(f"{queue}.dead", block_timeout=60)
    assert dead["body"] == "m"
    await client.expect(label, notice="drop", sequence=1, index=1)
    reason = broker.query("SELECT dead_reason FROM delivery_message WHERE queue_id = %s", dead["shard"])
    assert reason == [("expired",)]


async def test_the_time_to_live_ends_a_claim_too(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m", ttl=3600)
    message = await client.fetch(queue)
    broker.query("UPDATE delivery_message SET expires_at = now() WHERE queue_id = %s", message["shard"])
    await client.fetch(f"{queue}.dead", block_timeout=60)
    label = await client.begin("finish", **claim(message))
    await client.expect(label, code="NoObject", key=f"{message['shard']}/{message['sequence']}")


# dedupe


async def test_a_repeated_dedupe_text_is_not_stored_again(client: Client, queue: str) -> None:
    first = await client.post(queue, "1", dedupe="d")
    label = await client.begin("post", queue, message="2", dedupe="d", notify=["ready", "write", "sync"])
    await client.expect(label, notice="ready")
    for stage in ("write", "sync"):
        await client.expect(label, notice=stage, sequence=first["sequence"], index=first["index"])
    await client.finish(await client.fetch(queue))
    again = await client.post(queue, "3", dedupe="d")
    assert again["index"] == first["index"]
    await client.finds_nothing(queue)


async def test_a_repeated_dedupe_text_is_not_stored_again_within_one_frame(client: Client, queue: str) -> None:
    notices = await client.post_all(queue, ["1", "2", "3"], dedupe="d")
    assert [notice["index"] for notice in notices] == [1, 1, 1]
    assert (await client.fetch(queue))["body"] == "1"
    await client.finds_nothing(queue)


async def test_a_known_dedupe_text_harms_neither_its_batch_nor_the_free_ids(client: Client, queue: str) -> None:
    """The statement that stores them all fails for the one that is known; they are stored by a closer look."""
    await client.post(queue, "1", dedupe="d1")
    await client.finish(await client.fetch(queue))
    repeated = await client.post(queue, "1 again", dedupe="d1")
    assert (repeated["sequence"], repeated["index"]) == (1, 1)
    post = {"type": "post", "queue": queue, "notify": ["sync"]}
    await client.send(*({**post, "message": f"{n}", "dedupe": f"d{n}", "label": 900 + n} for n in (2, 1, 3)))
    notices = [await client.expect(900 + n, notice="sync") for n in (2, 1, 3)]
    assert [(notice["sequence"], notice["index"]) for notice in notices] == [(1, 2), (1, 1), (2, 3)]
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["2", "3"]


async def test_a_dedupe_text_is_remembered_when_a_pop_waits(client: Client, other: Client, queue: str) -> None:
    label = await other.begin_waiting("pop", queue, timeout=60)
    await client.begin("post", queue, message="1", dedupe="d", notify=["ready"])
    await other.expect(label, type="message", body="1")
    again = await client.post(queue, "2", dedupe="d")
    assert again["index"] == 1
    await client.finds_nothing(queue)


async def test_other_dedupe_texts_and_other_queues_are_stored(client: Client, queue: str) -> None:
    await client.post(queue, "1", dedupe="d")
    await client.post(queue, "2", dedupe="e")
    await client.post(f"{queue}-other", "3", dedupe="d")
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["1", "2"]
    assert (await client.fetch(f"{queue}-other"))["body"] == "3"


async def test_a_dedupe_text_is_forgotten_when_its_time_is_over(broker: Cluster, client: Client, queue: str) -> None:
    first = await client.post(queue, "1", dedupe="d")
    [(seconds,)] = broker.query(
        "SELECT extract(epoch FROM until - now())::float FROM delivery_dedupevalue WHERE queue_id = %s",
        first["shard"],
    )
    assert 240 < seconds <= 300  # WILLOW_DEDUPE_SECONDS by default
    broker.query("UPDATE delivery_dedupevalue SET until = now() WHERE queue_id = %s", first["shard"])
    second = await client.post(queue, "2", dedupe="d")
    assert second["index"] == 2


# full and paused queues


async def test_a_full_queue_refuses_until_there_is_room(client: Client, queue: str) -> None:
    await client.create(queue, max_length=2)
    await client.post_all(queue, ["1", "2"])
    claimed = await client.fetch(queue)
    label = await client.begin("post", queue, message="3", notify=["sync"])
    await client.expect(label, type="error", code="Overloaded", key=queue)
    await client.finish(claimed)
    await client.post(queue, "4")
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["2", "4"]


async def test_a_full_queue_refuses_only_what_does_not_fit_of_one_frame(client: Client, queue: str) -> None:
    await client.create(queue, max_length=2)
    posts = [
        {"type": "post", "queue": queue, "message": str(label), "label": label, "notify": ["sync"]}
        for label in (101, 102, 103)
    ]
    await client.send(*posts)
    await client.expect(101, notice="sync")
    await client.expect(102, notice="sync")
    await client.expect(103, code="Overloaded", key=queue)


async def test_a_full_queue_can_drop_its_oldest_unclaimed_messages(client: Client, queue: str) -> None:
    await client.create(queue, max_length=3, overflow="drop_oldest")
    await client.post(queue, "claimed")
    await client.fetch(queue)
    for body in ("1", "2", "3", "4"):
        await client.post(queue, body)
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["3", "4"]
    await client.finds_nothing(queue)


async def test_a_finish_behind_a_post_to_new_queues_counts_though_the_client_leaves_at_once(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    finish = {"type": "finish"} | claim(message)
    await client.send({"type": "post", "queue": [f"{queue}-a", f"{queue}-b"], "message": "behind"}, finish)
    await client.close()
    assert (await other.fetch(f"{queue}-b", block_timeout=30))["body"] == "behind"
    ended = "SELECT outcome FROM delivery_journal WHERE queue_id = %s"
    assert await asyncio.to_thread(wait_until, lambda: broker.query(ended, message["shard"]), PATIENCE)
    assert broker.query(ended, message["shard"]) == [("finished",)]


async def test_what_comes_to_a_queue_full_of_claims_is_not_dropped_itself(client: Client, queue: str) -> None:
    await client.create(queue, max_length=1, overflow="drop_oldest")
    await client.post(queue, "claimed")
    await client.fetch(queue)
    await client.post(queue, "1")
    await client.post(queue, "2")
    assert (await client.fetch(queue))["body"] == "2"
    await client.finds_nothing(queue)


async def test_a_paused_queue_accepts_and_hands_out_nothing(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.create(queue)
    _set_paused(broker, queue, True)
    assert (await client.create(queue))["paused"] is True  # the node knows now
    fetching = await other.begin("fetch", queue, block_timeout=60)
    popping = await other.begin("pop", queue, timeout=60)
    await other.heard_everything()
    await client.post_all(queue, ["1", "2"])
    await client.finds_nothing(queue)
    assert other.unread() == []
    _set_paused(broker, queue, False)
    messages = [await other.expect(label, type="message") for label in (fetching, popping)]
    assert {message["body"] for message in messages} == {"1", "2"}


def _set_paused(broker: Cluster, queue: str, paused: bool) -> None:
    broker.query("UPDATE queues_queue SET paused = %s, changed_at = now() WHERE name = %s", paused, queue)


async def test_delays_of_next_to_nothing_are_stored_and_come_due(client: Client, other: Client, queue: str) -> None:
    """The event loop has no timer for less than half a millisecond."""
    for delay in (0.0001, 0.0004, 0.00001):
        await client.post_all(queue, ["a", "b"], delay=delay)
        await other.post(queue, "c", delay=delay)
    for _ in range(9):
        await client.fetch(queue, block_timeout=PATIENCE)
