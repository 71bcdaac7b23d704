"""Reapers that are killed while a schedule runs: its due times are posted once each, and none is left out."""

import asyncio
import random
from datetime import datetime, timedelta

from tests.support.fixtures import Connect, StartCluster
from tests.support.http import call
from tests.support.keys import make_key

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
