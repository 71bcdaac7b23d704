"""Dramatiq's broker and actor."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.peers.workers.waits import ADDRESS, note

broker = RedisBroker(url=ADDRESS)
dramatiq.set_broker(broker)


@dramatiq.actor
def work(body: str) -> None:
    note(body)
