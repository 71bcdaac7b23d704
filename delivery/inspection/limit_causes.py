"""How limits keep messages from moving: of the queue, of its rate, and of a message's group."""

from typing import Any

from psycopg import AsyncConnection

from delivery.inspection.causes import Cause, holder_text, time_text
from delivery.moves.states import State
from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement

MOST_HOLDERS = 10  # that a sentence names
MOST_PLACES = 100  # of a group that are looked at


async def why_limited(connection: AsyncConnection[Any], queue_id: int, holders: list[Any]) -> list[Cause]:
    """`holders`: rows of claims_of_queue.sql."""
    parameters = {"limited": BigintColumn([queue_id]), "pops": False}
    rows = await fetch_rows(connection, statement("queue_limits"), parameters)
    if not rows:
        return []
    [limits] = rows
    causes = []
    held = sum(row.messages for row in holders)
    if limits.max_in_flight is not None and held >= limits.max_in_flight:
        causes.append(_all_in_flight(limits.max_in_flight, held, holders))
    if limits.next_in is not None and limits.next_in > 0:
        sentence = f"The rate allows the next one in {limits.next_in:.1f} s: at most {limits.rate:g} go in a second."
        causes.append(Cause("rate", sentence, facts={"seconds": limits.next_in, "rate": limits.rate}))
    if limits.group_in_flight is not None and limits.held_back_group is not None:
        causes.append(await why_behind(connection, queue_id, limits.held_back_group, limits.group_in_flight))
    return causes


def _all_in_flight(most: int, held: int, holders: list[Any]) -> Cause:
    named = ", ".join(f"{row.messages} with {holder_text(row)}" for row in holders[:MOST_HOLDERS])
    more = f", and others with {len(holders) - MOST_HOLDERS} more" if len(holders) > MOST_HOLDERS else ""
    sentence = f"{held} of {most} are in flight: {named}{more}."
    facts = {"in_flight": held, "max_in_flight": most, "sessions": [row.holder for row in holders[:MOST_HOLDERS]]}
    return Cause("max_in_flight", sentence, facts=facts)


async def why_behind(connection: AsyncConnection[Any], queue_id: int, group: str, most: int | None) -> Cause:
    parameters = {"queue_id": queue_id, "group_key": group, "limit": MOST_PLACES}
    places = await fetch_rows(connection, statement("places_of_group"), parameters)
    claimed = [row for row in places if row.state == State.CLAIMED]
    facts: dict[str, Any] = {"group": group, "group_in_flight": most, "indexes": [row.index for row in places]}
    of_most = f" of {most}" if most is not None else ""
    sentences = []
    if claimed:
        facts["since"] = min(row.assigned_at for row in claimed)
        named = ", ".join(f"index {row.index} with {holder_text(row)}" for row in claimed[:MOST_HOLDERS])
        sentences.append(
            f"Group {group} has {len(claimed)}{of_most} in flight since {time_text(facts['since'])}: {named}."
        )
    if waiting := [row for row in places if row.state == State.DELAYED]:
        next_one = min(waiting, key=lambda row: row.available_at)
        facts["until"] = next_one.available_at
        sentences.append(
            f"Group {group} waits for index {next_one.index}, which failed and is tried again"
            f" {time_text(next_one.available_at)}."
        )
    blocks = 0 < len(places) == len(claimed) + len(waiting)
    if not blocks:  # some that have a place could go now
        sentences.append(f"Group {group} has others that go first.")
    return Cause("group_in_flight", " ".join(sentences), blocks, facts)
