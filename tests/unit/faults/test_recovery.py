"""How soon clients are served as before is read from their histories."""

from faults.recovery import seconds_to_recover
from faults.remains import Fault


def received(*spans: tuple[float, float]) -> list[float]:
    """Ten messages a second, from and to."""
    return [begins + tenth / 10 for begins, ends in spans for tenth in range(round((ends - begins) * 10))]


def test_the_time_until_as_much_comes_as_before() -> None:
    assert seconds_to_recover(received((0, 10), (23, 40)), [Fault("kill", 10, 20)]) == [3.0]


def test_what_never_recovers_has_no_time() -> None:
    assert seconds_to_recover(received((0, 10)), [Fault("kill", 10, 20)]) == [None]
