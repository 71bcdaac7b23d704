"""Clients that move many messages: a hundred to a frame, and one line of history for them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from faults.history import Kind, Recorder
from faults.willow.load.client import LoadClient
from faults.willow.load.link import Fields, Link

BATCH = 100
IN_A_ROW = 50 * BATCH  # messages to one queue, then it is the next one's turn
UNDER_WAY = 10 * BATCH  # posts without their notice
MOST_WAITING = 5_000  # messages that are stored and not finished, of this process
IN_FLIGHT = 500
WORK_TIMEOUT = 10.0
MOST_SAID = (
    10_000  # finishes and the like without an answer: what is sent beyond that waits in sockets, not with a broker
)
RETRY_SECONDS = 0.3
LAST_ANSWERS_SECONDS = 40.0
UNAVAILABLE = "Unavailable"  # nothing was done, or nobody knows: it can be said again
FORGOTTEN_ONE_IN, FAILED_ONE_IN = 2_000, 200


class Backlog:
    """What the posters of this process have posted and its workers have not finished.

    A finish that was not confirmed counts as one until its message comes again. If it never counted, each outage would
    leave less room for posts, and after some there would be none.
    """

    def __init__(self) -> None:
        self.messages = 0
        self._in_doubt: set[tuple[int, int]] = set()  # shard and index

    def stored(self, messages: int) -> None:
        self.messages += messages

    def finished(self, messages: int) -> None:
        self.messages = max(self.messages - messages, 0)

    def perhaps_finished(self, commands: Sequence[Fields]) -> None:
        self.finished(len(commands))
        self._in_doubt.update(map(_place, commands))

    def came(self, messages: Sequence[Fields]) -> None:
        again = self._in_doubt.intersection(map(_place, messages))
        self._in_doubt -= again
        self.stored(len(again))


def _place(frame: Fields) -> tuple[int, int]:
    return frame["shard"], frame["index"]


class BulkPoster(LoadClient):
    """Asks for `sync`, and goes from queue to queue. It stops when the file `posting_over` is there."""

    options = "batch=true"

    def __init__(
        self,
        name: str,
        urls: list[str],
        recorder: Recorder,
        seed: int,
        queues: list[str],
        rate: float,
        backlog: Backlog,
        posting_over: Path,
    ) -> None:
        super().__init__(name, urls, recorder, seed)
        self._queues = queues
        self._first_queue = self.random.randrange(len(queues))
        self._pause = BATCH / rate
        self._backlog = backlog
        self._posting_over = posting_over
        self._under_way: set[int] = set()

    async def work(self, link: Link) -> None:
        self._under_way = set()
        link.on_frames = lambda frames: self._heard(link, frames)
        while not self.stopping.is_set() and not self._posting_over.exists():
            if len(self._under_way) < UNDER_WAY and self._backlog.messages < MOST_WAITING:
                await self._post(link)
            await asyncio.sleep(self._pause)
        await _until(lambda: not self._under_way, LAST_ANSWERS_SECONDS)
        await self.stopping.wait()

    async def _post(self, link: Link) -> None:
        labels = [self.label() for _ in range(BATCH)]
        bodies = [f"{self.name} {label}" for label in labels]
        queue = self._queue(labels[0])
        self._under_way.update(labels)
        link.note_many(Kind.POST, {"label": labels, "body": bodies}, queue=queue)
        post = {"type": "post", "queue": queue, "notify": ["sync"]}
        await link.send_all(
            [{**post, "message": body, "label": label} for label, body in zip(labels, bodies, strict=True)]
        )

    def _queue(self, label: int) -> str:
        """Labels count from 1, and a batch is never split. All queues get as many messages, however often it dies."""
        return self._queues[(self._first_queue + (label - 1) // IN_A_ROW) % len(self._queues)]

    def _heard(self, link: Link, frames: Sequence[Fields]) -> None:
        told: dict[str, list[Fields]] = defaultdict(list)
        for frame in frames:
            if frame.get("label") not in self._under_way:
                continue
            self._under_way.discard(frame["label"])
            queue = self._queue(frame["label"])
            if frame["type"] == "error":
                link.note(Kind.REFUSED, label=frame["label"], code=frame["code"], queue=queue)
            else:
                told[queue].append(frame)
        for queue, notices in told.items():
            columns = _columns(notices, "label", "shard", "sequence", "index")
            link.note_many(Kind.TOLD, columns, stage="sync", queue=queue)
            self._backlog.stored(len(notices))


class BulkWorker(LoadClient):
    """Subscribed to all queues. It finishes nearly all that comes, asks for `sync`, and repeats what was refused."""

    options = "batch=true"

    def __init__(
        self, name: str, urls: list[str], recorder: Recorder, seed: int, queues: list[str], backlog: Backlog
    ) -> None:
        super().__init__(name, urls, recorder, seed)
        self._queues = queues
        self._backlog = backlog
        self._said: dict[int | None, Fields] = {}
        self._to_repeat: list[Fields] = []

    async def work(self, link: Link) -> None:
        self._backlog.perhaps_finished(_finishes([*self._said.values(), *self._to_repeat]))  # on the link before
        self._said, self._to_repeat = {}, []
        came: asyncio.Queue[list[Fields]] = asyncio.Queue()
        link.on_frames = lambda frames: self._heard(link, frames, came)
        await self._subscribe(link)
        while not self.stopping.is_set():
            try:
                messages = await asyncio.wait_for(came.get(), RETRY_SECONDS)
            except TimeoutError:
                await self._repeat(link)
                continue
            for batch in _batches(messages):
                await self._answer(link, batch)
        await self._repeat(link)
        await _until(lambda: not self._said, LAST_ANSWERS_SECONDS)

    async def _subscribe(self, link: Link) -> None:
        command = {"type": "subscribe", "in_flight": IN_FLIGHT, "work_timeout": WORK_TIMEOUT}
        labels = {queue: self.label() for queue in self._queues}
        for queue, label in labels.items():
            link.note(Kind.ASK, verb="subscribe", label=label, queue=queue, count=IN_FLIGHT)
        await link.send_all([{**command, "queue": queue, "label": label} for queue, label in labels.items()])

    async def _answer(self, link: Link, messages: list[Fields]) -> None:
        """All of one queue."""
        commands = []
        for message in messages:
            if self.random.randrange(FORGOTTEN_ONE_IN) == 0:
                continue  # its time runs out
            verb = "fail" if self.random.randrange(FAILED_ONE_IN) == 0 else "finish"
            claim = {name: message[name] for name in ("queue", "shard", "sequence", "index", "attempt")}
            commands.append({"type": verb, "label": self.label(), "response": "sync", **claim})
        await self._say(link, commands)

    async def _repeat(self, link: Link) -> None:
        refused, self._to_repeat = self._to_repeat, []
        for same in _by(refused, "queue").values():
            for batch in _batches(same):
                await self._say(link, [{**command, "label": self.label()} for command in batch])

    async def _say(self, link: Link, commands: list[Fields]) -> None:
        """All about one queue."""
        await _until(lambda: len(self._said) < MOST_SAID, LAST_ANSWERS_SECONDS)
        self._said.update((command["label"], command) for command in commands)
        for verb, same in _by(commands, "type").items():
            link.note_many(Kind.SAY, _said(same), verb=verb, queue=commands[0]["queue"])
        await link.send_all(commands)

    def _heard(self, link: Link, frames: Sequence[Fields], came: asyncio.Queue[list[Fields]]) -> None:
        for queue, messages in _by((frame for frame in frames if frame["type"] == "message"), "queue").items():
            columns = _columns(messages, "label", "shard", "index", "attempt", "body")
            link.note_many(Kind.RECEIVED, columns, queue=queue, seconds=WORK_TIMEOUT)
            self._backlog.came(messages)
            came.put_nowait(messages)
        confirmed = []
        for frame in frames:
            command = self._said.pop(frame.get("label"), None)
            if command is None:
                if frame["type"] == "error":  # of a subscription: another connection may have more luck
                    link.give_up()
            elif frame["type"] == "error":
                link.note(Kind.REFUSED, code=frame["code"], **_about(command))
                if frame["code"] == UNAVAILABLE:
                    self._to_repeat.append(command)
                else:  # it may have been done before, or is somebody else's now
                    self._backlog.perhaps_finished(_finishes([command]))
            else:
                confirmed.append(command)
        for queue, commands in _by(confirmed, "queue").items():
            for verb, same in _by(commands, "type").items():
                link.note_many(Kind.CONFIRMED, _said(same), verb=verb, stage="sync", queue=queue)
                self._backlog.finished(len(_finishes(same)))


def _finishes(commands: Sequence[Fields]) -> list[Fields]:
    return [command for command in commands if command["type"] == "finish"]


def _said(commands: Sequence[Fields]) -> dict[str, list[Any]]:
    return _columns(commands, "label", "shard", "index", "attempt")


def _about(command: Fields) -> Fields:
    numbers = {name: command[name] for name in ("label", "queue", "shard", "index", "attempt")}
    return {"verb": command["type"], **numbers}


def _columns(frames: Sequence[Fields], *names: str) -> dict[str, list[Any]]:
    return {name: [frame[name] for frame in frames] for name in names}


def _by(frames: Iterable[Fields], name: str) -> dict[str, list[Fields]]:
    found: dict[str, list[Fields]] = defaultdict(list)
    for frame in frames:
        found[frame[name]].append(frame)
    return found


def _batches(messages: list[Fields]) -> Iterator[list[Fields]]:
    for start in range(0, len(messages), BATCH):
        yield messages[start : start + BATCH]


async def _until(holds: Callable[[], bool], seconds: float) -> None:
    """The checker says what was never answered."""
    for _ in range(round(seconds / RETRY_SECONDS)):
        if holds():
            return
        await asyncio.sleep(RETRY_SECONDS)
