"""The faults. Each is a context: it begins at the entry, and at the exit all that it broke is whole again."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from faults.willow.cluster import FaultyCluster
from faults.willow.crowd import WillowCrowd


@dataclass(frozen=True)
class Scene:
    """What faults befall, and the dice that choose among it."""

    cluster: FaultyCluster
    crowd: WillowCrowd
    random: random.Random


Inflict = Callable[[Scene], AbstractContextManager[None]]


@dataclass(frozen=True)
class Trouble:
    """`target`: no two faults with the same one happen at once. `seconds`: how long it lasts, from and to."""

    name: str
    target: str
    inflict: Inflict
    seconds: tuple[float, float] = (1.0, 4.0)
    crashes_storage: bool = False
    loses_storage: bool = False
