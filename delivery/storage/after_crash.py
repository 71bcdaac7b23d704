"""What must be done once after a crash of the storage, before anything is posted."""

from typing import Any

from psycopg import AsyncConnection

from delivery.storage.statements import statement

NO_CRASH_SINCE = "SELECT EXISTS (SELECT FROM queues_no_crash)"
ONE_AFTER_THE_OTHER = "LOCK TABLE queues_no_crash IN EXCLUSIVE MODE"


async def go_on_after_crash(connection: AsyncConnection[Any]) -> None:
    """Let no queue give out an index again. A crash ends all connections, so whoever connects first does this."""
    found = await (await connection.execute(NO_CRASH_SINCE)).fetchone()
    if found and found[0]:
        return
    async with connection.transaction():
        await connection.execute(ONE_AFTER_THE_OTHER)
        await connection.execute("SET LOCAL synchronous_commit = on")
        await connection.execute(statement("after_crash"))
