"""A process with clients of one role: `python -m faults.willow.load '{"role": …}'`. SIGTERM ends it in good order."""

import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from faults.history import Clock, Recorder
from faults.willow.load.bulk import Backlog, BulkPoster, BulkWorker
from faults.willow.load.client import LoadClient
from faults.willow.load.consumers import Fetcher, Popper, SlowReader, Subscriber
from faults.willow.load.posters import Poster
from faults.willow.load.queues import (
    BOUNDED,
    FETCHED,
    GROUPED,
    POPPED,
    SERVICE,
    SLOWLY_READ,
    STREAM,
    SUBSCRIBED,
)
from faults.willow.load.services import Frontend, ServiceWorker
from faults.willow.load.streams import StreamReader

POSTED_TO = (FETCHED, FETCHED, FETCHED, SUBSCRIBED, SUBSCRIBED, SUBSCRIBED, POPPED, POPPED, STREAM, STREAM)
POSTED_TO_NOW_AND_THEN = (GROUPED, BOUNDED, SLOWLY_READ)  # few get through these
BULK_POSTERS, BULK_WORKERS = 2, 3
FETCHERS, SUBSCRIBERS, POPPERS = (
    12,
    4,
    4,
)  # enough for 100 posts a second, so that nothing waits for somebody who is free


@dataclass(frozen=True)
class Order:
    """What a process is to do."""

    role: str
    name: str
    urls: list[str]
    history: str
    clock_offset: float
    seed: int
    rate: float  # posts a second
    bulk_queues: list[str]
    bulk_rate: float
    posting_over: str  # a file: when it is there, nothing more is posted in bulk


def clients(order: Order, recorder: Recorder) -> list[LoadClient]:
    common = (order.urls, recorder, order.seed)
    if order.role == "posters":
        queues = [*POSTED_TO, *POSTED_TO, *POSTED_TO_NOW_AND_THEN]
        return [Poster(f"{order.name}-{number}", *common, queues, order.rate / 3) for number in range(3)]
    if order.role in ("consumers", "rivals"):
        return _consumers(order, recorder)[order.role == "rivals" :: 2]
    if order.role == "readers":
        return [StreamReader(f"{order.name}-r{number}", *common, STREAM) for number in range(2)]
    if order.role == "services":
        frontends = [Frontend(f"{order.name}-a{number}", *common, SERVICE) for number in range(3)]
        return [*frontends, *(ServiceWorker(f"{order.name}-w{number}", *common, SERVICE) for number in range(2))]
    if order.role == "bulk":
        backlog, over = Backlog(), Path(order.posting_over)
        rate = order.bulk_rate / BULK_POSTERS
        return [
            *(BulkPoster(f"{order.name}-p{number}", *common, order.bulk_queues, rate, backlog, over)
              for number in range(BULK_POSTERS)),
            *(BulkWorker(f"{order.name}-w{number}", *common, order.bulk_queues, backlog)
              for number in range(BULK_WORKERS)),
        ]  # fmt: skip
    raise ValueError(f"there is no role {order.role}")


def _consumers(order: Order, recorder: Recorder) -> list[LoadClient]:
    """For two processes in turn. In either, every second one comes back with the identity that it had."""
    common = (order.urls, recorder, order.seed)

    def resumes(number: int) -> bool:
        return number % 4 < 2

    fetchers = [Fetcher(f"{order.name}-f{number}", *common, FETCHED, resumes(number)) for number in range(FETCHERS)]
    subscribers = [
        Subscriber(f"{order.name}-s{number}", *common, SUBSCRIBED, resumes(number)) for number in range(SUBSCRIBERS)
    ]
    of_groups = [Fetcher(f"{order.name}-g{number}", *common, GROUPED, number == 0) for number in range(2)]
    of_bounded = [Subscriber(f"{order.name}-b{number}", *common, BOUNDED, number == 0) for number in range(2)]
    slow = SlowReader(f"{order.name}-l", *common, SLOWLY_READ, resumes=False)
    quick = Fetcher(f"{order.name}-q", *common, SLOWLY_READ, resumes=False)
    poppers = [Popper(f"{order.name}-p{number}", *common, POPPED) for number in range(POPPERS)]
    return [*fetchers, *subscribers, *of_groups, *of_bounded, slow, quick, *poppers]


async def main(order: Order) -> None:
    recorder = Recorder(Path(order.history), Clock(order.clock_offset), order.bulk_queues)
    everybody = clients(order, recorder)

    def stop() -> None:
        for client in everybody:
            client.stopping.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    await asyncio.gather(*(client.run() for client in everybody))
    recorder.close()


if __name__ == "__main__":
    asyncio.run(main(Order(**json.loads(sys.argv[1]))))
