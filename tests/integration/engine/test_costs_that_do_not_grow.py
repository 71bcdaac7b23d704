"""No command costs PostgreSQL more because of what is there or was there before: counted in pages and in WAL.

`./willow bench sweep` does the same up to a million, with processor time.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from benchmarks.driven.broker import FILL_GROUP, DrivenBroker
from benchmarks.sweep.growth import GROWTHS
from benchmarks.sweep.probe import COMMANDS, TIMES, Cost, probe

FEW, MANY = 100, 2_000
PROBES = 3  # of which the cheapest counts: vacuum and checkpoints make single ones dearer
ONE_BY_ONE = 2_000  # messages of a group
MORE_WAL = 1.5  # times as much
MORE_PAGES = 2.0  # times as many: trees grow a level


@pytest.fixture
def brokers() -> Iterator[tuple[DrivenBroker, DrivenBroker]]:
    with ExitStack() as stack:
        made = [DrivenBroker(os.environ["DATABASE_URL"], f"willow_test_{uuid.uuid4().hex}") for _ in range(2)]
        for broker in made:
            stack.callback(broker.close)
        yield made[0], made[1]


def cheapest(broker: DrivenBroker) -> dict[str, Cost]:
    probes = [probe(broker) for _ in range(1 + PROBES)][1:]
    return {
        command: Cost(
            cpu=0.0,
            wal=min(costs[command].wal for costs in probes),
            pages=min(costs[command].pages for costs in probes),
            seconds=0.0,
        )
        for command in COMMANDS
    }


def slopes(few: dict[str, Cost], many: dict[str, Cost]) -> list[str]:
    return [
        f"{command}: {many[command].wal:.0f} bytes of WAL and {many[command].pages:.0f} pages, "
        f"{few[command].wal:.0f} and {few[command].pages:.0f} beside few"
        for command in COMMANDS
        if many[command].wal > MORE_WAL * few[command].wal or many[command].pages > MORE_PAGES * few[command].pages
    ]


def test_no_command_costs_more_because_of_what_is_there_or_was_there(
    brokers: tuple[DrivenBroker, DrivenBroker],
) -> None:
    little, much = brokers
    found = []
    # What has ended comes last: if that has a slope, the others are seen without it.
    for growth in sorted(GROWTHS, key=lambda growth: growth.name == "ended"):
        growth.grow(little, FEW)
        growth.grow(much, MANY)
        found += [f"beside {MANY} {growth.name}, {slope}" for slope in slopes(cheapest(little), cheapest(much))]
    assert not found, "\n".join(found)


# As posts would have it: the first of the group is ready, and the others wait behind it.
MAKE_A_GROUP = """
    UPDATE delivery_message m SET group_key = 'g', state = CASE WHEN m.index = 1 THEN m.state ELSE 4 END
    FROM queues_queue q WHERE q.id = m.queue_id AND q.name = 'group'
"""


def test_the_next_of_a_group_costs_no_more_because_of_those_that_have_gone(
    brokers: tuple[DrivenBroker, DrivenBroker],
) -> None:
    """Each leaves an entry at the head of the index in which the group waits."""
    broker, _ = brokers
    broker.order("create", "group", group_in_flight=1)
    broker.order("post", "group", ONE_BY_ONE, FILL_GROUP)
    with psycopg.connect(broker.database_url, autocommit=True) as connection:
        connection.execute(MAKE_A_GROUP)
        connection.execute("VACUUM delivery_message")

    def pages(messages: int) -> float:
        before = broker.counters.read()
        for _ in range(messages):
            broker.order("fetch", "group")
            broker.order("finish", "group")
        return (broker.counters.read() - before).pages

    first = min(pages(TIMES) for _ in range(PROBES))
    pages(ONE_BY_ONE - (2 * PROBES + 1) * TIMES)
    assert min(pages(TIMES) for _ in range(PROBES)) <= MORE_PAGES * first
