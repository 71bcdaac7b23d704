"""What each client saw and did, one event to a line of a file, so that a killed client leaves its history behind."""

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any


class Kind(StrEnum):
    CONNECTED = "connected"  # `session`: its identity; `resumed`: it is one from before
    LOST = "lost"  # the connection is over, for whatever reason
    POST = "post"  # about to be sent
    TOLD = "told"  # a notice about a post: `stage`
    ASK = "ask"  # `verb` fetch, pop or subscribe, for up to `count` messages
    NOTHING = "nothing"  # an ask ended without a message, or was answered without one
    RECEIVED = "received"
    SAY = "say"  # `verb` finish, fail, release or keepalive, about to be sent
    CONFIRMED = "confirmed"  # what was said is so: `stage`
    REFUSED = "refused"  # a post, an ask or what was said: `code`
    KILLED = "killed"  # a process whose clients' names begin with this one and a hyphen; noted by who killed it
    READY = "ready"  # an observer of the storage saw this message wait, ready to be handed out


@dataclass(frozen=True, slots=True)
class Event:
    """Who, when and what. `label` ties answers to commands: a client never uses one twice.

    `body` is the text of a message, and no two posts have the same.
    """

    at: float  # seconds since the epoch, by a clock that never steps
    client: str
    kind: Kind
    connection: int = 0  # counted by the client
    label: int | None = None
    queue: str = ""
    body: str = ""
    verb: str = ""
    stage: str = ""
    code: str = ""
    shard: int = 0
    sequence: int = 0
    index: int = 0
    attempt: int = 0
    priority: int = 0
    count: int = 0
    seconds: float = 0.0  # received: how long the claim lasts; ask: how long it waits
    group: str = ""
    session: str = ""
    resumed: bool = False
    ended: bool = False  # received: by a pop, so there is nothing to finish

    @property
    def message(self) -> tuple[int, int]:
        return (self.shard, self.index)


EACH = "each"  # in a line of a file: fields with a value for each of several events
APART = "@"  # in the name of a file, before the queue that it is about
DEFAULTS = {field.name: field.default for field in fields(Event)}


class Clock:
    """Seconds since the epoch that never step: all processes of a machine that share `offset` agree on them."""

    def __init__(self, offset: float | None = None) -> None:
        self.offset = time.time() - time.monotonic() if offset is None else offset

    def now(self) -> float:
        return self.offset + time.monotonic()


class Recorder:
    """Writes one process's history. Each event has left the process before `note` returns.

    What is about the queues of `apart` goes to files of its own, so that it can be judged queue by queue.
    """

    def __init__(self, file: Path, clock: Clock, apart: Collection[str] = ()) -> None:
        self._path = file
        self._clock = clock
        self._apart = apart
        self._files = {"": file.open("ab", buffering=0)}

    def note(self, client: str, kind: Kind, **details: Any) -> Event:
        event = Event(self._clock.now(), client, kind, **details)
        said = {name: value for name, value in asdict(event).items() if value != DEFAULTS[name]}
        self._write(event.queue, said)
        return event

    def note_many(self, client: str, kind: Kind, each: Mapping[str, Sequence[Any]], **details: Any) -> None:
        """Events of one moment in one line: `each` has a list for every field in which they differ."""
        about = {"at": self._clock.now(), "client": client, "kind": kind, **details}
        self._write(details.get("queue", ""), {**about, EACH: each})

    def _write(self, queue: str, said: dict[str, Any]) -> None:
        name = queue if queue in self._apart else ""
        if name not in self._files:
            self._files[name] = history_of(self._path, name).open("ab", buffering=0)
        self._files[name].write(json.dumps(said, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def history_of(file: Path, queue: str) -> Path:
    """Where the recorder of `file` writes what is about a queue that is kept apart."""
    return file.with_name(f"{file.stem}{APART}{queue}{file.suffix}")


def read_history(files: Iterable[Path]) -> list[Event]:
    """The events of all files in the order in which they happened. The last line of a killed writer may be torn."""
    events: list[Event] = []
    for file in files:
        with file.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    events += _events(json.loads(line))
    return sorted(events, key=lambda event: event.at)


def _events(said: dict[str, Any]) -> Iterator[Event]:
    said["kind"] = Kind(said["kind"])
    each = said.pop(EACH, None)
    if each is None:
        yield Event(**said)
        return
    for values in zip(*each.values(), strict=True):
        yield Event(**said, **dict(zip(each, values, strict=True)))
