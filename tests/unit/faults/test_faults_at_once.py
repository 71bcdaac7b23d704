"""Faults that happen at once are all healed, also when one of them met another."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import psycopg

from faults.willow.cluster import FaultyCluster
from faults.willow.crowd import WillowCrowd
from faults.willow.troubles import Scene, Trouble
from faults.willow.troubles.at_once import all_at_once

healed: list[str] = []


@contextmanager
def that_is_healed(scene: Scene) -> Iterator[None]:
    yield
    healed.append("healed")


@contextmanager
def whose_connection_dies(scene: Scene) -> Iterator[None]:
    yield
    raise psycopg.OperationalError("terminating connection due to unexpected postmaster exit")


def test_one_whose_connection_died_keeps_none_of_the_others_from_being_healed() -> None:
    """Such as a transaction that stayed open while PostgreSQL was killed."""
    healed.clear()
    told: list[str] = []
    scene = Scene(cast(FaultyCluster, None), cast(WillowCrowd, None), random.Random(1))
    troubles = [Trouble("first", "a", that_is_healed), Trouble("dies", "b", whose_connection_dies),
                Trouble("last", "c", that_is_healed)]  # fmt: skip
    with all_at_once(troubles, scene, told.append):
        assert healed == []
    assert healed == ["healed", "healed"]
    assert told == ["'dies' met another fault: terminating connection due to unexpected postmaster exit"]
