"""How soon claims come to others is read from histories and the journal."""

from collections.abc import Iterator
from dataclasses import replace

from faults.history import Event, Kind
from faults.redelivery import HandedOver, after_disconnects, after_leases
from faults.remains import Fault
from faults.report import table_of_times
from tests.unit.faults.story import Story


def seconds(handed_over: Iterator[HandedOver]) -> list[float]:
    return [each.seconds for each in handed_over]


def handed_over(reason: str) -> Story:
    """Held by a client that is lost a second later, for 30 s; another one gets it 33 s after that."""
    story = Story()
    for client in ("a", "b"):
        story.connect(client)
    story.post("m", 5)
    story.receive("a", 5)
    story.lose("a")
    story.now += 32
    story.end(5, "retried", reason=reason)
    story.receive("b", 5, attempt=2)
    return story


def test_the_time_from_a_disconnect() -> None:
    story = handed_over("disconnected")
    assert seconds(after_disconnects(story.evidence())) == [33.0]
    assert seconds(after_leases(story.evidence())) == []


def test_the_time_from_a_disconnect_begins_when_a_fault_is_over() -> None:
    story = handed_over("disconnected")
    story.faults = [Fault("kill", story.now - 40, story.now - 3)]
    assert seconds(after_disconnects(story.evidence())) == [3.0]


def test_the_time_from_the_end_of_a_claim() -> None:
    story = handed_over("timeout")
    assert seconds(after_leases(story.evidence())) == [4.0]
    assert seconds(after_disconnects(story.evidence())) == []


def test_claims_that_a_fault_may_have_prolonged_are_left_out() -> None:
    story = handed_over("timeout")
    story.faults = [Fault("kill", story.now - 10, story.now - 9)]
    assert seconds(after_leases(story.evidence())) == []


def test_the_time_begins_when_somebody_asks() -> None:
    """Until then there was nobody to give the message to."""
    story = handed_over("timeout")
    asked, received = story.events[-1].at - 1, story.events.pop()
    story.events.append(Event(asked, "b", Kind.ASK, connection=1, label=7, verb="fetch", queue="work"))
    story.events.append(replace(received, label=7))
    assert seconds(after_leases(story.evidence())) == [1.0]


def test_the_time_begins_when_a_subscription_has_room() -> None:
    """It had all that it may have at a time, until a second before it was given the message."""
    story = Story()
    for client in ("a", "b"):
        story.connect(client)
    for index in (5, 6):
        story.post(f"m{index}", index)
    label = story.label()
    story.note("b", Kind.ASK, connection=1, label=label, verb="subscribe", queue="work", count=1)
    story.receive("b", 6, label=label)
    story.receive("a", 5)
    story.lose("a")
    story.end(5, "retried", reason="disconnected")
    story.now += 20
    story.finish("b", 6)
    story.receive("b", 5, attempt=2, label=label)
    assert seconds(after_disconnects(story.evidence())) == [1.0]


def test_the_table_names_whose_claims_came_late() -> None:
    story = handed_over("disconnected")
    late = list(after_disconnects(story.evidence()))
    lines = table_of_times([], [], late, []).splitlines()
    assert [line for line in lines if "1 of a, the latest after 33.0 s" in line and line.endswith("to b")]
    assert not [
        line for line in table_of_times([], [], [replace(late[0], seconds=1.9)], []).splitlines() if "late:" in line
    ]
