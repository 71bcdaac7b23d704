"""Fetches and pops of one connection."""

from typing import Any

from delivery.sessions.reads import MOST_ROTATIONS, Reads


def test_rotations_are_remembered_and_their_number_is_bounded() -> None:
    session: Any = None
    reads = Reads(session)
    first = reads.rotation("orders", ("0",))
    assert reads.rotation("orders", ("0",)) is first
    for number in range(1, MOST_ROTATIONS):
        reads.rotation("orders", (str(number),))
    assert reads.rotation("orders", ("0",)) is first  # used again, so another one is the oldest
    reads.rotation("orders", ("one more",))
    assert reads.rotation("orders", ("0",)) is first
    for number in range(MOST_ROTATIONS):
        reads.rotation("others", (str(number),))
    assert reads.rotation("orders", ("0",)) is not first
