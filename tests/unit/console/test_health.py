"""The traffic light and its reasons."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clients.models import Node
from console.health import Level, Light, light_of, waiting_queues
from delivery.figures.database import Snapshot
from delivery.figures.queues import QueueFigures
from delivery.models import DutyRun


def queue(name: str = "orders", **figures: Any) -> QueueFigures:
    usual: dict[str, Any] = {
        "id": 1, "tags": [], "kind": "work", "paused": False, "max_length": None, "newest_index": 10, "live": 0,
        "claimed": 0, "delayed": 0, "consumers": 1, "oldest_age": None,
    }  # fmt: skip
    return QueueFigures(name=name, **{**usual, **figures})


def node(**fields: Any) -> Node:
    heartbeat_at = timezone.now() - timedelta(seconds=fields.pop("silent", 0))
    usual = {"name": "north", "heartbeat_at": heartbeat_at, "draining": False, "alarms": []}
    return Node(**{**usual, **fields})


def duty(silent: float = 0, error: str = "") -> DutyRun:
    ran_at = timezone.now() - timedelta(seconds=silent)
    return DutyRun(duty="retain streams", ran_at=ran_at, seconds=0, handled=0, error=error)


def snapshot(seconds: float) -> Snapshot:
    return Snapshot(1, "analyst", "notebook", "local", "active", seconds, 10, "SELECT")


def light(**state: Any) -> Light:
    everything: dict[str, Any] = {"queues": [], "nodes": [node()], "duties": [duty()], "snapshots": [], "dead": 0}
    everything |= state
    return light_of(
        everything["queues"],
        everything["nodes"],
        everything["duties"],
        everything["snapshots"],
        everything["dead"],
    )


UNCONSUMED = queue(live=3, consumers=0, oldest_age=61.0)


def test_all_is_well() -> None:
    assert light(queues=[queue(live=3, oldest_age=2.0)]) == Light(Level.OK, [])


@pytest.mark.parametrize(
    ("state", "level", "sentence"),
    [
        (lambda: {"nodes": []}, Level.BAD, "No node is alive"),
        (lambda: {"nodes": [node(silent=60)]}, Level.BAD, "No node is alive"),
        (lambda: {"nodes": [node(), node(silent=60)]}, Level.WARN, "Silent without having left: north."),
        (lambda: {"nodes": [node(draining=True)]}, Level.WARN, "Draining, and about to stop: north."),
        (lambda: {"duties": []}, Level.BAD, "No reaper has ever run"),
        (lambda: {"duties": [duty(silent=90)]}, Level.BAD, "No reaper for 1 min 30 s"),
        (
            lambda: {"duties": [duty(error="disk full\nmore")]},
            Level.WARN,
            "The reaper could not retain streams",
        ),
        (lambda: {"queues": [UNCONSUMED]}, Level.WARN, "Messages that nobody consumes: orders."),
        (lambda: {"queues": [queue(live=3, oldest_age=301.0)]}, Level.WARN, "Messages older than 5 min although"),
        (lambda: {"queues": [queue(live=3, paused=True)]}, Level.WARN, "Messages wait in paused queues: orders."),
        (
            lambda: {"queues": [queue(live=90, max_length=100)]},
            Level.WARN,
            "Nearly as many messages as allowed",
        ),
        (lambda: {"dead": 2}, Level.WARN, "2 messages died within the hour."),
        (lambda: {"snapshots": [snapshot(301)]}, Level.WARN, "notebook has kept a transaction open for 5 min 1 s"),
        (lambda: {"snapshots": [snapshot(1801)]}, Level.BAD, "notebook has kept a transaction open for 30 min 1 s"),
    ],
)
def test_what_is_wrong_is_said(state: Callable[[], dict[str, Any]], level: Level, sentence: str) -> None:
    shown = light(**state())
    assert shown.level is level
    assert [reason for reason in shown.reasons if reason.sentence.startswith(sentence)], shown.reasons


@pytest.mark.parametrize(
    "quiet",
    [
        queue(live=3, consumers=0, oldest_age=59.0),
        queue(name="orders.dead", live=3, consumers=0, oldest_age=9000.0),
        queue(live=3, claimed=3, consumers=0, oldest_age=None),
        queue(live=89, max_length=100),
        queue(kind="stream", live=3, consumers=0),
    ],
)
def test_what_is_usual_is_not_a_reason(quiet: QueueFigures) -> None:
    assert light(queues=[quiet]).level is Level.OK


def test_the_worst_comes_first_and_a_sentence_names_only_some_queues() -> None:
    many = [queue(name=f"queue-{number}", live=1, consumers=0, oldest_age=99.0) for number in range(9)]
    shown = light(queues=many, nodes=[])
    assert [reason.level for reason in shown.reasons] == [Level.BAD, Level.WARN]
    assert shown.reasons[1].sentence == "Messages that nobody consumes: queue-0, queue-1, queue-2 and 6 more."
    assert shown.headline == "2 things need action"


def test_the_longest_waiting_come_first() -> None:
    queues = [queue("a", oldest_age=1.0), queue("b", oldest_age=9.0), queue("c"), queue("d.dead", oldest_age=99.0)]
    assert [found.name for found in waiting_queues(queues)] == ["b", "a"]
