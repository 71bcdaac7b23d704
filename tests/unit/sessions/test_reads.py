"""What a connection remembers of its fetches."""

from typing import Any

from delivery.sessions.reads import MOST_ROTATIONS, Reads

NO_SESSION: Any = None


def test_fetches_with_ever_new_tags_leave_little_behind() -> None:
    reads = Reads(NO_SESSION)
    for number in range(2 * MOST_ROTATIONS):
        reads.rotation("orders", tuple(f"{number}-{tag}".ljust(200, "x") for tag in range(3)))
    assert len(reads._rotations) == MOST_ROTATIONS
    assert {len(key) for key in reads._rotations} == {16}


def test_the_same_tags_go_on_where_they_were() -> None:
    reads = Reads(NO_SESSION)
    assert reads.rotation("orders", ("a", "b")) is reads.rotation("orders", ("a", "b"))
    assert reads.rotation("orders", ("a", "b")) is not reads.rotation("orders", ("ab",))
