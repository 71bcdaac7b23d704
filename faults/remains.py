"""What the storage holds when all is over, and which faults there were, in terms that fit any broker."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Live:
    """A message that is still there: waiting, claimed, delayed, or kept by a stream."""

    shard: int
    queue: str
    sequence: int
    index: int
    body: str
    attempt: int = 0
    priority: int = 0
    posted_at: float = 0.0
    assigned_at: float | None = None
    origin: tuple[int, int] | None = None  # dead letters: shard and index that it had


@dataclass(frozen=True, slots=True)
class Ending:
    """A row of the journal: the end of a message, or of one attempt (`retried`)."""

    shard: int
    queue: str
    index: int
    outcome: str  # retried, finished, popped, dead, dropped
    attempt: int
    reason: str = ""
    body: str | None = None  # None: not kept
    priority: int = 0
    posted_at: float = 0.0
    assigned_at: float | None = None
    ended_at: float = 0.0

    @property
    def message(self) -> tuple[int, int]:
        return (self.shard, self.index)

    @property
    def is_last(self) -> bool:
        return self.outcome != "retried"


@dataclass(frozen=True, slots=True)
class QueueRemains:
    shard: int
    queue: str
    newest_index: int
    ended: int  # messages that the broker has counted as ended
    is_stream: bool = False
    in_flight_limit: int | None = None
    group_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """`crashes_storage`: what was committed and not flushed may be gone. `loses_storage`: what was flushed, too."""

    name: str
    began: float
    ended: float
    crashes_storage: bool = False
    loses_storage: bool = False


@dataclass(frozen=True, slots=True)
class Remains:
    live: list[Live] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    queues: list[QueueRemains] = field(default_factory=list)
