"""Posts that applications wrote in transactions of their own (`willow_post`), on their way into the queues.

Storing a post and deleting it from where the application wrote it is one transaction, so it happens once or not at all.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from psycopg import AsyncConnection

from delivery.moves.admission import Admission
from delivery.moves.posting import NobodyPosts, PostRequest
from delivery.protocol.commands import Post
from delivery.protocol.errors import FrameError, WillowError
from delivery.storage.after_commit import AfterCommit, Step
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement
from queues.definitions import QueueRecord

QueueKey = tuple[str, tuple[str, ...]]  # name and tags
NOTHING_SEEN = "1:1:"  # the snapshot in which no transaction has ended
MOVED_AT_ONCE = 500
SORTED_AT_ONCE = 5000  # of which those that committed first are moved
MOVED_BYTES_AT_ONCE = 2 * 1024 * 1024  # posts of clients wait behind them
ONE_MOVES = 7_719_455_670  # the advisory lock's number: "willow" on a telephone's keys, and 70


class MoveRequest:
    """Move what was committed since the snapshot `seen` and goes to one of these queues. What goes to one of those
    named in `held` is not looked at.

    `moved` is called with a snapshot of which nothing is left to move, or None.
    """

    synchronous = True
    source = None
    weight = 0

    def __init__(
        self,
        seen: str,
        queues: Mapping[QueueKey, QueueRecord],
        held: Sequence[str],
        moved: Callable[[str | None], None],
        failed: Callable[[WillowError], None],
    ) -> None:
        self.seen = seen
        self.queues = queues
        self.held = list(held)
        self.moved = moved
        self.fail = failed


class TransactionalPosts:
    """`stored` says what follows the commit of posts that were admitted."""

    def __init__(
        self, *, node_id: int, node_name: str, stored: Callable[[Admission, list[PostRequest]], AfterCommit]
    ) -> None:
        self._node_id = node_id
        self._node_name = node_name
        self._stored = stored

    async def run(self, connection: AsyncConnection[Any], requests: list[MoveRequest]) -> AfterCommit:
        steps: list[Step] = []
        later: list[Step] = []
        for request in requests:
            async with connection.transaction():
                after, seen = await self._move(connection, request)
            steps += [*after.at_once, partial(request.moved, seen)]
            later += after.later
        return AfterCommit(*steps, later=later)

    async def _move(self, connection: AsyncConnection[Any], request: MoveRequest) -> tuple[AfterCommit, str | None]:
        (lock,) = await fetch_rows(connection, statement("transactional_posts_lock"), {"lock": ONE_MOVES})
        if not lock[0]:
            return AfterCommit(), None
        limits = {
            "seen": request.seen,
            "held": request.held,
            "limit": SORTED_AT_ONCE,
            "most": MOVED_AT_ONCE,
            "bytes": MOVED_BYTES_AT_ONCE,
        }
        rows = await fetch_rows(connection, statement("transactional_posts_take"), limits)
        posts = await self._posts(connection, rows, request.queues)
        admission = Admission(connection, list(posts), self._node_id, self._node_name)
        await admission.admit()
        done = [row for post, row in posts.items() if post not in admission.refused]
        ids = {"transaction": [row.transaction for row in done], "id": [row.id for row in done]}
        await connection.execute(statement("transactional_posts_delete"), ids)
        is_all = not rows or len(done) == rows[0].waiting < SORTED_AT_ONCE
        return self._stored(admission, list(posts)), rows[0].snapshot if rows and is_all else None

    async def _posts(
        self, connection: AsyncConnection[Any], rows: Sequence[Any], queues: Mapping[QueueKey, QueueRecord]
    ) -> dict[PostRequest, Any]:
        """Rows by the posts that they become. One that no queue can ever take is marked, and stays."""
        posts = {}
        for row in rows:
            if (queue := queues.get((row.queue, tuple(sorted(set(row.tags)))))) is None:
                continue
            try:
                command = _command(row)
            except FrameError as error:
                why = {"why": str(error), "transaction": row.transaction, "id": row.id}
                await connection.execute(statement("transactional_posts_refuse"), why)
            else:
                posts[PostRequest(NobodyPosts(), command, [queue], may_exceed=True)] = row
        return posts


def _command(row: Any) -> Post:
    return Post(
        queues=(row.queue,),
        tags=tuple(row.tags),
        message=row.body,
        priority=row.priority,
        delay=row.delay,
        ttl=row.ttl,
        key=row.key,
        dedupe=row.dedupe,
        headers=row.headers,
        group=row.group,
        unique=row.unique,
    )
