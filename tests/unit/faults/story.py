"""Histories written by hand: what clients saw, and what the storage has afterwards."""

from dataclasses import replace
from typing import Any

from faults.checker import Judgement, check
from faults.evidence import Evidence
from faults.history import Event, Kind
from faults.remains import Ending, Fault, Live, QueueRemains, Remains

WORK, STREAM, DEAD = 1, 2, 3
NAMES = {WORK: "work", STREAM: "stream", DEAD: "work.dead"}


class Story:
    """Each method is one thing that happens, a second after the one before, unless it says when."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.events: list[Event] = []
        self.live: dict[tuple[int, int], Live] = {}
        self.endings: list[Ending] = []
        self.faults: list[Fault] = []
        self.posted: dict[tuple[int, int], tuple[str, float, int]] = {}
        self.limits: dict[str, int] = {}
        self.newest = dict.fromkeys(NAMES, 0)
        self.miscounted = 0
        self._labels = 0

    def note(self, client: str, kind: Kind, **details: Any) -> Event:
        self.now += 1
        event = Event(self.now, client, kind, **details)
        self.events.append(event)
        return event

    def label(self) -> int:
        self._labels += 1
        return self._labels

    def connect(self, client: str, connection: int = 1, **details: Any) -> None:
        self.note(client, Kind.CONNECTED, connection=connection, session=f"session of {client}", **details)

    def lose(self, client: str, connection: int = 1) -> None:
        self.note(client, Kind.LOST, connection=connection)

    def post(
        self, body: str, index: int, stage: str = "sync", shard: int = WORK, priority: int = 0, sequence: int = 0
    ) -> None:
        """Posted, told and stored."""
        label = self.label()
        details: dict[str, Any] = {"queue": NAMES[shard], "body": body, "connection": 1, "label": label}
        self.note("poster", Kind.POST, priority=priority, **details)
        numbers = {"shard": shard, "sequence": sequence or index, "index": index}
        self.note("poster", Kind.TOLD, stage=stage, **details, **numbers)
        self.posted[shard, index] = (body, self.now, priority)
        self.newest[shard] = max(self.newest[shard], index)
        self.live[shard, index] = Live(
            shard, NAMES[shard], sequence or index, index, body, priority=priority, posted_at=self.now
        )

    def receive(self, client: str, index: int, attempt: int = 1, shard: int = WORK, **details: Any) -> Event:
        body, _, priority = self.posted.get((shard, index), ("nobody's", 0.0, 0))
        said = {"body": body, "seconds": 30.0, "connection": 1, "priority": priority, **details}
        event = self.note(client, Kind.RECEIVED, shard=shard, index=index, attempt=attempt, queue=NAMES[shard], **said)
        if (shard, index) in self.live and shard != STREAM:
            self.live[shard, index] = replace(self.live[shard, index], attempt=attempt, assigned_at=self.now)
        return event

    def say(self, client: str, verb: str, index: int, attempt: int = 1, stage: str = "", shard: int = WORK) -> None:
        """Said, and confirmed if a stage is given."""
        label = self.label()
        numbers = {"shard": shard, "index": index, "attempt": attempt, "label": label, "connection": 1, "verb": verb}
        self.note(client, Kind.SAY, **numbers)
        if stage:
            self.note(client, Kind.CONFIRMED, stage=stage, **numbers)

    def end(self, index: int, outcome: str, attempt: int = 1, reason: str = "", **details: Any) -> None:
        """What the storage keeps of an ending."""
        body, posted_at, priority = self.posted.get((WORK, index), ("", 0.0, 0))
        live = self.live.get((WORK, index))
        assigned_at = live.assigned_at if live else None
        if outcome != "retried":
            self.live.pop((WORK, index), None)
        row = Ending(WORK, "work", index, outcome, attempt, reason, body, priority, posted_at, assigned_at, self.now)
        self.endings.append(replace(row, **details))

    def finish(self, client: str, index: int, attempt: int = 1, stage: str = "sync") -> None:
        self.say(client, "finish", index, attempt, stage)
        self.end(index, "finished", attempt)

    def crash(self) -> None:
        self.now += 1
        self.faults.append(Fault("kill -9 of the storage", self.now, self.now + 1, crashes_storage=True))

    def judge(self) -> Judgement:
        evidence = self.evidence()
        return check(evidence.history, evidence.remains, evidence.faults)

    def evidence(self) -> Evidence:
        ended = {
            shard: len({row.index for row in self.endings if row.is_last and row.shard == shard}) for shard in NAMES
        }
        lost = {shard: self.newest[shard] - ended[shard] - self._living(shard) for shard in NAMES}
        queues = [
            QueueRemains(
                shard,
                name,
                self.newest[shard],
                ended[shard] + lost[shard] + (self.miscounted if shard == WORK else 0),
                is_stream=shard == STREAM,
                in_flight_limit=self.limits.get("queue") if shard == WORK else None,
                group_limit=self.limits.get("group") if shard == WORK else None,
            )
            for shard, name in NAMES.items()
        ]
        events = sorted(self.events, key=lambda event: event.at)
        return Evidence(events, Remains(list(self.live.values()), self.endings, queues), self.faults)

    def _living(self, shard: int) -> int:
        return sum(message.shard == shard for message in self.live.values())
