"""Queues with groups beside queues without: many groups of which one has a long backlog, and one group alone."""

from typing import LiteralString

import willow_client

from benchmarks.alternation import alternate
from benchmarks.clients import per_second_by_clients
from benchmarks.draining import drain
from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "group-order"
PLAIN, GROUPED = "no-groups", "groups-in-order"
GROUP = "account"
MESSAGES_OF_A_GROUP = 10  # for as many groups as there are for each ten of the backlog
FEWEST_RUNS = 5  # of two seconds: one alone is too short to say much
AT_LEAST = Bar(0.7)

# The first of each group is ready (0), the others wait behind it (4), as posts would have it. The large group comes
# first, and somebody holds its first message.
LAY_OUT = """
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body, group_key, attempts, holder,
                                  work_timeout, lease_until)
    SELECT {queue_id}, n, n, 0, CASE WHEN n = 1 THEN 2 ELSE 4 END, convert_to(repeat('x', 100), 'UTF8'), 'large',
           CASE WHEN n = 1 THEN 1 ELSE 0 END, CASE WHEN n = 1 THEN 0 END, 3600,
           CASE WHEN n = 1 THEN now() + interval '1 hour' END
    FROM generate_series(1, {backlog}) AS n;
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body, group_key)
    SELECT {queue_id}, {backlog} + n, {backlog} + n, 0, CASE WHEN n <= {groups} THEN 0 ELSE 4 END,
           convert_to(repeat('x', 100), 'UTF8'), 'group ' || n % {groups}
    FROM generate_series(1, {messages}) AS n;
    UPDATE queues_counter SET newest_index = {backlog} + {messages}, next_sequence = {backlog} + {messages} + 1
    WHERE queue_id = {queue_id};
    DELETE FROM delivery_endedcount WHERE queue_id = {queue_id};
"""
# Both queues: autovacuum would otherwise go over what was just laid out while it is measured; beside the large group,
# that is several times as much.
VACUUMED: LiteralString = "VACUUM (ANALYZE) delivery_message"


def run(stage: Stage, scale: Scale) -> list[Figure]:
    queues = stage.load.run(_define, stage.broker.url)
    return [_many_groups(stage, scale, queues), _one_group(stage, scale)]


async def _define(url: str) -> dict[str, int]:
    async with willow_client.connect(url) as client:
        plain, grouped = await client.create(PLAIN), await client.create(GROUPED, group_in_flight=1)
        return {PLAIN: plain.shard, GROUPED: grouped.shard}


def _many_groups(stage: Stage, scale: Scale, queues: dict[str, int]) -> Figure:
    groups = scale.backlog // MESSAGES_OF_A_GROUP

    def grouped() -> float:
        stage.clear()
        numbers = {"queue_id": queues[GROUPED], "backlog": scale.backlog, "groups": groups, "messages": 2 * groups}
        stage.execute(LAY_OUT.format(**numbers))  # type: ignore[arg-type]  # numbers of our own
        stage.execute(VACUUMED)
        return stage.on_broker(drain, GROUPED, scale.short_backlog)

    def plain() -> float:
        stage.lay_out(queues[PLAIN], messages=2 * groups, body_size=100)
        stage.execute(VACUUMED)
        return stage.on_broker(drain, PLAIN, scale.short_backlog)

    values, limits = alternate(max(scale.runs, FEWEST_RUNS), grouped, plain)
    name = f"fetch + finish of {groups:,} groups beside one with {scale.backlog:,} waiting : without groups"
    return Figure(name=name, unit="messages/s", values=values, limits=limits, bar=AT_LEAST)


def _one_group(stage: Stage, scale: Scale) -> Figure:
    def measure(queue: str, group: str | None) -> float:
        stage.clear()
        return stage.on_broker(_post_and_take, queue, group, scale.seconds)

    values, limits = alternate(scale.runs, lambda: measure(GROUPED, GROUP), lambda: measure(PLAIN, None))
    name = "post + fetch + finish one by one, 1 client, 1 group : without"
    return Figure(name=name, unit="messages/s", values=values, limits=limits, bar=AT_LEAST)


async def _post_and_take(url: str, queue: str, group: str | None, seconds: float) -> float:
    async def work(client: willow_client.Client, meter: Meter) -> None:
        while meter.running:
            await client.post(queue, "x" * 100, group=group)
            message = await client.fetch(queue)
            assert message is not None
            await message.finish()
            meter.done += 1

    return await per_second_by_clients(url, 1, work, seconds)
