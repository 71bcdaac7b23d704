"""Queues by their tags: what is found by indexes is what a look at each one finds."""

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from delivery.engine.matching import QueuesOfName, Watch, Watches, matches
from delivery.protocol.fields import Match
from queues.definitions import QueueRecord, QueueSettings, tag_set

MATCHES: tuple[Match, ...] = ("all", "exact", "strict", "combined", "any")
SETTINGS = QueueSettings(
    kind="work", retry_limit=3, heartbeat_timeout=1, retry_delay=0, retry_backoff=1, retry_delay_max=0
)


def some_tags(chance: random.Random) -> tuple[str, ...]:
    return tag_set(chance.sample("abcdef", chance.randrange(5)))


def queue(number: int, tags: tuple[str, ...]) -> QueueRecord:
    now = datetime.now(UTC)
    return QueueRecord(
        id=number, name="orders", tags=tags, settings=SETTINGS, paused=False, defined_at=now, changed_at=now
    )


@pytest.mark.parametrize("match", MATCHES)
def test_queues_are_found_by_their_tags(match: Match) -> None:
    chance, known = random.Random(7), QueuesOfName()
    by_tags = {tags: queue(number, tags) for number, tags in enumerate({some_tags(chance) for _ in range(60)})}
    for record in by_tags.values():
        known.put(record)
    for record in list(by_tags.values())[::3]:
        known.remove(record)
        del by_tags[record.tags]
    for _ in range(50):
        wanted = some_tags(chance)
        expected = [record for record in by_tags.values() if matches(record.tags, frozenset(wanted), match)]
        assert sorted(found.id for found in known.matching(wanted, match)) == sorted(record.id for record in expected)


@pytest.mark.parametrize("match", MATCHES)
def test_readers_hear_of_new_queues_by_their_tags_each_once(match: Match) -> None:
    chance, watches = random.Random(7), Watches()
    known = [Watch("orders", frozenset(some_tags(chance)), match, lambda _: None) for _ in range(60)]
    for watch in known:
        watches.add(watch)
    for watch in known[::3]:
        watches.remove(watch)
    left = [watch for watch in known if not watch.ended]
    for number in range(50):
        record = queue(number, some_tags(chance))
        found = list(watches.of(record))
        assert len(found) == len(set(found))
        assert set(found) == {watch for watch in left if matches(record.tags, watch.tags, match)}
    assert not list(watches.of(replace(record, name="others")))
    for watch in left:
        watches.remove(watch)
    assert "orders" not in watches
