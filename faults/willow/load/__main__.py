"""A process with clients of one role: `python -m faults.willow.load '{"role": …}'`. SIGTERM ends it in good order."""

import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from faults.history import Clock, Recorder
from faults.willow.load.client import LoadClient
from faults.willow.load.consumers import Fetcher, Popper, Subscriber
from faults.willow.load.posters import Poster
from faults.willow.load.streams import StreamReader

WORK_QUEUES = ["work-fetched", "work-subscribed"]
POP_QUEUE = "work-popped"
STREAM = "stream"


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


def clients(order: Order, recorder: Recorder) -> list[LoadClient]:
    common = (order.urls, recorder, order.seed)
    if order.role == "posters":
        queues = [*WORK_QUEUES, *WORK_QUEUES, POP_QUEUE, STREAM]
        return [Poster(f"{order.name}-{number}", *common, queues, order.rate / 3) for number in range(3)]
    if order.role == "consumers":
        fetchers = [Fetcher(f"{order.name}-f{number}", *common, WORK_QUEUES[0], number % 2 == 0) for number in range(4)]
        subscribers = [
            Subscriber(f"{order.name}-s{number}", *common, WORK_QUEUES[1], number % 2 == 0) for number in range(3)
        ]
        return [*fetchers, *subscribers, Popper(f"{order.name}-p", *common, POP_QUEUE)]
    if order.role == "readers":
        return [StreamReader(f"{order.name}-r{number}", *common, STREAM) for number in range(2)]
    raise ValueError(f"there is no role {order.role}")


async def main(order: Order) -> None:
    recorder = Recorder(Path(order.history), Clock(order.clock_offset))
    everybody = clients(order, recorder)

    def stop() -> None:
        for client in everybody:
            client.stopping.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    await asyncio.gather(*(client.run() for client in everybody))
    recorder.close()


if __name__ == "__main__":
    asyncio.run(main(Order(**json.loads(sys.argv[1]))))
