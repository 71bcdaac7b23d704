"""Of each group as many messages are ready or held as may be claimed at a time; the others wait behind them.

So claims never look at those that may not go, however many they are. Who ends claims and who posts, the two that are in
a hurry, decide about the groups of their messages in their own transaction. Whatever else happens to messages of groups
leaves a note, in its own transaction, and `settle_groups` decides afterwards.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.storage.advisory_locks import group_lock, take
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statement_connection import Statement
from delivery.storage.statements import statement

GROUPS_AT_ONCE = 200
UNKNOWN_GROUP = ""  # of a message of which it is not known whether it has one
MEMBERS_LOOKED_AT = 500  # of one group, of those that may go or wait


class Group(NamedTuple):
    queue_id: int
    group_key: str


class Arranged(NamedTuple):
    queue_id: int
    goes: bool


def arranging(groups: Iterable[Group]) -> Statement:
    """For a transaction that holds the locks of these groups."""
    values = _columns(sorted(set(groups))) | {"limit": MEMBERS_LOOKED_AT}
    return Statement(statement("arrange_groups"), values, Arranged)


def made_ready(arranged: Iterable[Arranged]) -> Counter[int]:
    """By queue: how many messages are ready that were not."""
    return Counter(row.queue_id for row in arranged if row.goes)


async def lock_and_arrange(connection: AsyncConnection[Any], groups: Iterable[Group]) -> Counter[int]:
    """In the caller's transaction."""
    touched = set(groups)
    if not touched:
        return Counter()
    await take(connection, [group_lock(*group) for group in touched])
    return made_ready(await fetch_batch(connection, *arranging(touched)))


async def touch_groups(connection: AsyncConnection[Any], groups: Iterable[Group]) -> None:
    """In the caller's transaction: leave a note of groups, for `settle_groups`."""
    if touched := sorted(set(groups)):
        await connection.execute(statement("touch_groups"), _columns(touched))


async def settle_groups(connection: AsyncConnection[Any]) -> Counter[int]:
    """Decide about the groups that notes were left of. By queue: how many messages are ready that were not."""
    ready: Counter[int] = Counter()
    while True:
        async with connection.transaction():
            values = {"limit": GROUPS_AT_ONCE}
            groups = await fetch_batch(connection, statement("take_touched_groups"), values, Group)
            ready += await lock_and_arrange(connection, groups)
        if not groups:
            return ready


async def arrange_next_groups(connection: AsyncConnection[Any], queue_id: int, after: str) -> tuple[Counter[int], str]:
    """In the caller's transaction: go through some groups of a queue. Returns how many messages became ready, and the
    last group that was looked at ("": there are no more)."""
    values = {"queue_id": queue_id, "after": after, "limit": GROUPS_AT_ONCE}
    groups = await fetch_batch(connection, statement("next_groups"), values, Group)
    ready = await lock_and_arrange(connection, groups)
    return ready, groups[-1].group_key if groups else ""


def groups_of(rows: Iterable[Any]) -> list[Group]:
    return [Group(row.queue_id, row.group_key) for row in rows if row.group_key is not None]


def _columns(groups: Sequence[Group]) -> dict[str, Any]:
    return {
        "queue_id": BigintColumn([group.queue_id for group in groups]),
        "group_key": TextColumn([group.group_key for group in groups]),
    }
