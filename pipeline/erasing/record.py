"""The record of erasures: what is under way, and the proof of what was done."""

import getpass
import os
from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from pipeline.database import Connection
from pipeline.erasing.selection import Selection, selection_from

Counts = dict[str, int]  # where -> how many rows there still have something to erase

UNDER_WAY = "SELECT id, selection, begun_at, before FROM willow_erasures WHERE state = 'begun' ORDER BY id"
BEGIN = """
    INSERT INTO willow_erasures (selection, target, actor, state, before)
    SELECT %(selection)s, %(target)s, %(actor)s, 'begun', %(before)s
    WHERE NOT EXISTS (SELECT FROM willow_erasures WHERE state = 'begun' AND selection = %(selection)s)
    RETURNING id
"""
# The name of a client was needed to finish; now it is to be forgotten, too.
CLOSE = """
    UPDATE willow_erasures SET state = 'done', after = %(after)s, selection = selection - 'client', ended_at = now()
    WHERE id = %(id)s AND state = 'begun'
"""
AUDIT = """
    INSERT INTO delivery_auditentry (actor, actor_kind, action, target, messages, details)
    SELECT actor, 'system', %(action)s, target, %(messages)s, %(details)s FROM willow_erasures WHERE id = %(id)s
"""


@dataclass(frozen=True)
class Erasure:
    number: int
    selection: Selection
    begun: datetime
    before: Counts


def under_way(connection: Connection) -> list[Erasure]:
    rows = connection.execute(UNDER_WAY).fetchall()
    return [Erasure(number, selection_from(said), begun, before) for number, said, begun, before in rows]


def begin(connection: Connection, selection: Selection, before: Counts) -> None:
    """Write down what is about to be erased, with an audit entry; once, though the command is given twice."""
    with connection.transaction():
        row = connection.execute(
            BEGIN,
            {
                "selection": Jsonb(selection.as_json()),
                "target": selection.target,
                "actor": _actor(),
                "before": Jsonb(before),
            },
        ).fetchone()
        if row is not None:
            _audit(connection, row[0], "begin erasure", before, {"before": before})


def close(connection: Connection, erasure: Erasure, after: Counts) -> None:
    """The proof: what there was, and that nothing is left."""
    with connection.transaction():
        if connection.execute(CLOSE, {"id": erasure.number, "after": Jsonb(after)}).rowcount == 1:
            _audit(connection, erasure.number, "erase", erasure.before, {"before": erasure.before, "after": after})


def _audit(connection: Connection, number: int, action: str, before: Counts, details: dict[str, Counts]) -> None:
    messages = max(before.get("journal", 0), before.get("archive", 0))
    connection.execute(AUDIT, {"id": number, "action": action, "messages": messages, "details": Jsonb(details)})


def _actor() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in many containers
        return f"user {os.getuid()}"
