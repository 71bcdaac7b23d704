"""Reapers that are killed or stopped while a schedule runs.

Its due times are posted once each. Those are left out at which no reaper ran, and no others.
"""

import asyncio
import random
import signal
from datetime import datetime, timedelta
from itertools import pairwise

from delivery.schedules.pulse import STANDSTILL_SECONDS
from tests.support.cluster import PATIENCE
from tests.support.fixtures import Connect, StartCluster
from tests.support.http import call
from tests.support.keys import make_key
from willow_site.processes import wait_until

DUE_TIMES = 6


async def test_reapers_killed_at_random_moments(start_cluster: StartCluster, connect: Connect, queue: str) -> None:
    with start_cluster() as cluster:
        active, other = cluster.add_reaper(), cluster.add_reaper()
        key = make_key(cluster, {"*": {"admin"}})
        client = await connect(cluster.node)
        label = await client.subscribe(queue, in_flight=100)
        # `all`: on a machine on which a reaper takes long to start there may be none for a while.
        body = {"name": queue, "queue": queue, "message": "m", "every": 1, "missed": "all"}
        made = await call(cluster.node, "POST", "/api/schedules/", body, headers=key.headers)
        assert made.status == 201
        due = []
        while len(due) < DUE_TIMES:
            due.append(datetime.fromisoformat((await client.next(label))["headers"]["willow-due"]))
            await asyncio.sleep(random.random())  # until a moment within the second: that of the kill is the test
            active.kill()
            active, other = other, active
            other.start()
        first = datetime.fromisoformat(made.json["created_at"])
        assert due == [first + timedelta(seconds=number) for number in range(1, DUE_TIMES + 1)]
        runs = cluster.query("SELECT due_at, count(*) FROM delivery_schedulerun GROUP BY due_at HAVING count(*) > 1")
        assert runs == []


async def test_what_came_due_while_the_reaper_was_stopped_was_missed(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    with start_cluster() as cluster:
        reaper = cluster.add_reaper()
        key = make_key(cluster, {"*": {"admin"}})
        client = await connect(cluster.node)
        label = await client.subscribe(queue, in_flight=100)
        body = {"name": queue, "queue": queue, "message": "m", "every": 1}
        await call(cluster.node, "POST", "/api/schedules/", body, headers=key.headers)
        due = [datetime.fromisoformat((await client.next(label))["headers"]["willow-due"])]
        reaper.send(signal.SIGSTOP)
        asleep = "SELECT now() - seen_at > %s * interval '1 second' FROM delivery_schedulewatch"
        long_enough = STANDSTILL_SECONDS + 2
        assert await asyncio.to_thread(
            wait_until, lambda: cluster.query(asleep, long_enough) == [(True,)], long_enough + PATIENCE
        )
        reaper.send(signal.SIGCONT)
        while len(due) < DUE_TIMES:
            due.append(datetime.fromisoformat((await client.next(label))["headers"]["willow-due"]))
        left_out = max(later - earlier for earlier, later in pairwise(due))
        assert left_out > timedelta(seconds=STANDSTILL_SECONDS)
