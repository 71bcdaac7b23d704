"""Connections that stall, are reset and are slow: no post is lost or doubled, no claim forgotten, and all goes on."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import willow_client
from msgspec.structs import replace
from willow_client import ClaimLost, Client, JobEvent, Message, Request, Timeout, serve

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE, Cluster
from tests.support.proxy import Proxy

PING_SECONDS = 0.3
DISTURBANCES = 15


@asynccontextmanager
async def disturbed(proxy: Proxy, seed: int) -> AsyncIterator[asyncio.Future[None]]:
    """Something happens to the connections again and again, until the future that is handed out is done."""
    disturbing = asyncio.ensure_future(_disturb(proxy, random.Random(seed)))
    try:
        yield disturbing
    finally:
        disturbing.cancel()
        with suppress(asyncio.CancelledError):
            await disturbing
        proxy.delay = 0
        proxy.flow()


async def _disturb(proxy: Proxy, dice: random.Random) -> None:
    for _ in range(DISTURBANCES):
        await asyncio.sleep(dice.uniform(0.05, 0.4))
        match dice.choice(["reset", "reset", "stall", "slow"]):
            case "reset":
                proxy.reset()
            case "stall":
                proxy.stall()
                await asyncio.sleep(dice.uniform(0, 3 * PING_SECONDS))
                proxy.reset()
                proxy.flow()
            case "slow":
                proxy.delay = dice.uniform(0, 0.02)


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_post_is_lost_or_doubled(proxy: Proxy, client: Client, queue: str, seed: int) -> None:
    async with (
        willow_client.connect(proxy.url, ping_interval=PING_SECONDS, timeout=PATIENCE) as poster,
        disturbed(proxy, seed) as disturbing,
    ):
        posted = 0
        while not disturbing.done():
            await asyncio.gather(*(poster.post(queue, str(number)) for number in range(posted, posted + 10)))
            many = await poster.post_many(queue, map(str, range(posted + 10, posted + 40)), window=20)
            assert many.stored == 30
            posted += 40
    assert proxy.connections > 3
    stored: Counter[str] = Counter()
    while messages := await client.pop_many(queue, 1000):
        stored.update(message.text for message in messages)
    assert stored == Counter(str(number) for number in range(posted))


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_claim_is_forgotten(broker: Cluster, proxy: Proxy, client: Client, queue: str, seed: int) -> None:
    """A worker finishes everything at its first attempt, and nothing twice."""
    done: Counter[str] = Counter()
    came = asyncio.Condition()
    posted = 0

    async def all_but(number: int) -> None:
        async with came:
            await came.wait_for(lambda: len(done) >= posted - number)

    async def handle(message: Message) -> None:
        await asyncio.sleep(0.02)
        async with came:
            done[message.text] += 1
            came.notify_all()

    async with (
        asyncio.timeout(4 * PATIENCE),
        willow_client.connect(proxy.url, ping_interval=PING_SECONDS, hold=PATIENCE) as busy,
        busy.worker(queue, handle, concurrency=4),
        disturbed(proxy, seed) as disturbing,
    ):
        while not disturbing.done():
            await client.post_many(queue, map(str, range(posted, posted + 40)))
            posted += 40
            await all_but(20)
        await all_but(0)
    assert proxy.connections > 2
    assert done == Counter(str(number) for number in range(posted))
    shard = (await client.create(queue)).shard
    outcomes = broker.query(
        "SELECT outcome, attempt, count(*) FROM delivery_journal WHERE queue_id = %s GROUP BY 1, 2", shard
    )
    assert outcomes == [("finished", 1, posted)]


async def test_subscriptions_and_services_go_on(proxy: Proxy, client: Client, queue: str, service: str) -> None:
    async def answer(request: Request) -> bytes:
        return request.body

    async with (
        asyncio.timeout(PATIENCE),
        willow_client.connect(proxy.url, ping_interval=PING_SECONDS) as reader,
        reader.subscribe(queue) as messages,
        serve(proxy.url, service, answer, ping_interval=PING_SECONDS),
    ):
        for number in range(5):
            proxy.reset()
            await client.post(queue, str(number))
            message = await anext(messages)
            assert message.text == str(number)
            await message.finish()
            assert await client.request(service, str(number)) == str(number).encode()


async def test_a_broker_that_stalls_is_given_up_and_found_again(proxy: Proxy, queue: str) -> None:
    async with asyncio.timeout(PATIENCE), willow_client.connect(proxy.url, ping_interval=PING_SECONDS) as client:
        proxy.stall()
        posting = asyncio.ensure_future(client.post(queue, "m"))
        while proxy.connections < 2:
            await asyncio.sleep(0.01)
        proxy.reset()
        proxy.flow()
        assert (await posting).index == 1


async def test_a_finish_whose_answer_was_lost_is_no_error(
    broker: Cluster, proxy: Proxy, client: Client, queue: str
) -> None:
    await client.post(queue, "m")
    async with asyncio.timeout(PATIENCE), willow_client.connect(proxy.url) as worker:
        message = await worker.fetch(queue)
        assert message is not None
        proxy.stall_answers()
        finishing = asyncio.ensure_future(message.finish())
        while broker.query("SELECT 1 FROM delivery_message WHERE queue_id = %s", message.shard):
            await asyncio.sleep(LOOK_SECONDS)
        proxy.reset()
        proxy.flow()
        await finishing


async def test_a_finish_that_came_too_late_is_no_success(
    broker: Cluster, proxy: Proxy, client: Client, queue: str
) -> None:
    """The claim's time ran out during the outage, and the first finish never arrived."""
    await client.post(queue, "m")
    async with asyncio.timeout(PATIENCE), willow_client.connect(proxy.url, hold=PATIENCE) as worker:
        message = await worker.fetch(queue, work_timeout=0.5)
        assert message is not None
        proxy.stall()
        finishing = asyncio.ensure_future(message.finish())
        while broker.query("SELECT 1 FROM delivery_message WHERE queue_id = %s AND attempts = 1", message.shard) and (
            broker.query("SELECT 1 FROM delivery_message WHERE queue_id = %s AND holder IS NOT NULL", message.shard)
        ):
            await asyncio.sleep(LOOK_SECONDS)
        proxy.reset()
        proxy.flow()
        with pytest.raises(ClaimLost):
            await finishing


async def test_the_end_of_a_job_is_told_when_the_broker_is_back(
    broker: Cluster, proxy: Proxy, client: Client, queue: str
) -> None:
    """However long that takes: the limit of a call is none for a worker, and nothing is called finished before."""
    await client.post(queue, "m")
    events: list[JobEvent] = []
    at_work, let_go, told = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(message: Message) -> None:
        at_work.set()
        await let_go.wait()

    def hook(event: JobEvent) -> None:
        events.append(event)
        if event.kind != "started":
            told.set()

    async with (
        asyncio.timeout(PATIENCE),
        willow_client.connect(proxy.url, hold=PATIENCE) as busy,
        busy.worker(queue, handle, on_event=hook),
    ):
        await at_work.wait()
        usual, hasty = busy.options, replace(busy.options, timeout=0.1)
        busy._connection.options = hasty  # not before: so little time may be too short to connect in
        proxy.stall()
        let_go.set()
        with pytest.raises(Timeout):
            await busy.post(queue, "later than the finish", timeout=0.3)
        assert [event.kind for event in events] == ["started"]
        proxy.reset()
        proxy.flow()
        await told.wait()
        busy._connection.options = usual
    assert [(event.kind, event.error) for event in events] == [("started", None), ("finished", None)]
    assert await client.pop(queue) is None


async def test_a_job_whose_claim_did_not_last_is_reported_as_lost(
    broker: Cluster, proxy: Proxy, client: Client, queue: str
) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    kinds: asyncio.Queue[str] = asyncio.Queue()
    let_go = asyncio.Event()

    async def handle(message: Message) -> None:
        if message.attempt == 1:
            with suppress(asyncio.CancelledError):
                await let_go.wait()

    async with (
        asyncio.timeout(PATIENCE),
        willow_client.connect(proxy.url, hold=0) as busy,
        busy.worker(queue, handle, concurrency=1, on_event=lambda event: kinds.put_nowait(event.kind)),
    ):
        assert await kinds.get() == "started"
        proxy.stall()
        proxy.reset()
        while broker.query(
            "SELECT 1 FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id"
            " WHERE q.name = %s AND m.holder IS NOT NULL",
            queue,
        ):
            await asyncio.sleep(LOOK_SECONDS)
        let_go.set()
        proxy.flow()
        assert [await kinds.get() for _ in range(3)] == ["lost", "started", "finished"]
