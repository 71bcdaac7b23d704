"""How far registered clients have come, written down in batches."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from psycopg import AsyncConnection

from delivery.protocol.errors import WillowError
from delivery.storage.after_commit import AfterCommit, for_each
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.statements import statement
from queues.integer_ranges import BIGINT_MAX

Answer = Callable[[WillowError | None], None]  # called with None when it is done


class StartPosition(NamedTuple):
    """Where a client is in a stream when it begins to read it."""

    acked_index: int
    floor_index: int
    acked_above: list[int]
    delivered_index: int


class PositionHolder(Protocol):
    """Whose position in a stream is written: a reader of the stream."""

    client_id: int
    session_id: int
    queue_id: int
    acked_index: int
    acked_above: set[int]
    pending_write: "PositionWrite | None"

    @property
    def floor_index(self) -> int: ...

    @property
    def delivered_index(self) -> int: ...


class PositionWrite:
    """A reader's position on its way to the database, with everyone who waits for it to be written."""

    source = None  # all writes about streams keep one order
    weight = 0

    def __init__(self, reader: PositionHolder) -> None:
        self.reader = reader
        self.synchronous = False
        self._answers: list[Answer] = []

    def add(self, answer: Answer | None, synchronous: bool) -> None:
        self.synchronous |= synchronous
        if answer is not None:
            self._answers.append(answer)

    def begin(self) -> None:
        """From now on, changes need a write of their own."""
        if self.reader.pending_write is self:
            self.reader.pending_write = None

    def done(self) -> None:
        for_each(lambda answer: answer(None), self._answers)

    def fail(self, error: WillowError) -> None:
        self.begin()
        for_each(lambda answer: answer(error), self._answers)


class AckRecord:
    """A registered client finished a message of a work queue."""

    synchronous = False
    source = None
    weight = 0

    def __init__(self, client_id: int, queue_id: int, index: int) -> None:
        self.client_id = client_id
        self.queue_id = queue_id
        self.index = index

    def fail(self, error: WillowError) -> None:
        """The message is finished anyway. The client's next finish brings the record up to date."""


async def open_position(
    connection: AsyncConnection[Any], client_id: int, queue_id: int, start: str | int
) -> StartPosition | None:
    """Where the client is in a stream. `start`: where it begins if it never read it. None: the stream is gone."""
    by_index = isinstance(start, int)
    parameters = {
        "client_id": client_id,
        "queue_id": queue_id,
        "start": "index" if by_index else start,
        "start_index": min(start, BIGINT_MAX) if by_index else None,
    }
    row = await (await connection.execute(statement("open_position"), parameters)).fetchone()
    return StartPosition(*row) if row else None


async def run_position_writes(connection: AsyncConnection[Any], writes: list[PositionWrite]) -> AfterCommit:
    for write in writes:
        write.begin()
    readers = [write.reader for write in writes]
    columns = {
        "client_id": BigintColumn([reader.client_id for reader in readers]),
        "session_id": BigintColumn([reader.session_id for reader in readers]),
        "queue_id": BigintColumn([reader.queue_id for reader in readers]),
        "acked_index": BigintColumn([reader.acked_index for reader in readers]),
        "floor_index": BigintColumn([reader.floor_index for reader in readers]),
        "delivered_index": BigintColumn([reader.delivered_index for reader in readers]),
        "acked_above": TextColumn([_array_literal(reader.acked_above) for reader in readers]),
    }
    await connection.execute(statement("save_positions"), columns)
    return AfterCommit(partial(for_each, PositionWrite.done, writes))


async def run_ack_records(connection: AsyncConnection[Any], records: list[AckRecord]) -> None:
    columns = {
        "client_id": BigintColumn([record.client_id for record in records]),
        "queue_id": BigintColumn([record.queue_id for record in records]),
        "index": BigintColumn([record.index for record in records]),
    }
    await connection.execute(statement("record_acks"), columns)


def _array_literal(numbers: set[int]) -> str:
    return "{" + ",".join(map(str, sorted(numbers))) + "}"
