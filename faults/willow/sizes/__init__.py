"""`./willow faults load`: many connections, many queues, large bodies and a long time, without faults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a load is wanted. Of the soak, `scale` is a part of its minutes."""

    scale: float
    minutes: float
    bulk_rate: float  # messages a second in the soak, at most
