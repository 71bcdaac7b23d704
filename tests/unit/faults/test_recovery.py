"""How soon clients are served as before is read from their histories."""

from faults.history import Event, Kind
from faults.recovery import seconds_to_recover
from faults.remains import Fault


def received(*spans: tuple[float, float]) -> list[Event]:
    """Ten messages a second, from and to."""
    moments = [begins + tenth / 10 for begins, ends in spans for tenth in range(round((ends - begins) * 10))]
    return [Event(moment, "client", Kind.RECEIVED) for moment in moments]


def test_the_time_until_as_much_comes_as_before() -> None:
    assert seconds_to_recover(received((0, 10), (23, 40)), [Fault("kill", 10, 20)]) == [3.0]


def test_what_never_recovers_has_no_time() -> None:
    assert seconds_to_recover(received((0, 10)), [Fault("kill", 10, 20)]) == [None]
