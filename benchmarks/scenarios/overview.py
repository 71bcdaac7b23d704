"""The console's overview of 2,000 queues with messages: read anew, and from what was read a moment ago."""

import asyncio

import willow_client

from benchmarks.figures import Figure
from benchmarks.operator import Operator
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "overview"
QUEUES = 2_000
PAGE = "/console/"
FILL = """
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body)
    SELECT id, number, number, 0, 0, 'x' FROM queues_queue CROSS JOIN generate_series(1, 250) AS number
    WHERE name LIKE 'overview-%'
"""
COUNT = """
    UPDATE queues_counter SET newest_index = 250, next_sequence = 251
    WHERE queue_id IN (SELECT id FROM queues_queue WHERE name LIKE 'overview-%')
"""


def run(stage: Stage, scale: Scale) -> list[Figure]:
    stage.load.run(define_queues, stage.broker.url)
    stage.execute(FILL)
    stage.execute(COUNT)
    operator = Operator(stage.broker)
    anew, kept = [], []
    for _ in range(scale.runs):
        stage.broker.stop()  # and with it what it has read
        stage.broker.start()
        anew.append(operator.milliseconds_for(PAGE))
        kept.append(operator.milliseconds_for(PAGE))
    title = f"overview of {QUEUES:,} queues with 250 messages each"
    return [
        Figure(name=f"{title}, read anew", unit="ms", values=anew),
        Figure(name=f"{title}, read before", unit="ms", values=kept),
    ]


async def define_queues(url: str) -> None:
    async with willow_client.connect(url) as client:
        await asyncio.gather(*(client.create(f"overview-{number}") for number in range(QUEUES)))
