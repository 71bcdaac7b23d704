"""Clocks that are wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

from faults.willow.clocks import RIGHT, can_set_clocks, set_clock
from faults.willow.crowd import CLOCKED
from faults.willow.troubles import Scene, Trouble

OFFSETS = ("+3600s", "-3600s", "+20s", "-20s")


@contextmanager
def stepped_clock(scene: Scene) -> Iterator[None]:
    """Of one broker."""
    file = scene.cluster.clock_file(scene.random.randrange(len(scene.cluster.nodes)))
    set_clock(file, scene.random.choice(OFFSETS))
    yield
    set_clock(file, RIGHT)


@contextmanager
def stepped_client_clock(scene: Scene) -> Iterator[None]:
    """Of all clients of one role. Workers of services send their time, and are refused while it is wrong."""
    file = scene.crowd.clock_file(scene.random.choice(CLOCKED))
    set_clock(file, scene.random.choice(OFFSETS))
    yield
    set_clock(file, RIGHT)


CLOCK_TROUBLES = (
    (
        Trouble("a broker's clock steps", "clocks", stepped_clock, (4, 10)),
        Trouble("clients' clocks step", "client clocks", stepped_client_clock, (4, 10)),
    )
    if can_set_clocks()
    else ()
)
