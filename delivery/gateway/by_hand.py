"""A post that an operator writes by hand, with its entry in the audit log."""

from collections.abc import Sequence
from datetime import timedelta

from clients.principal import OPERATOR
from delivery.gateway import http
from delivery.gateway.http import Stored
from delivery.operating.audit import Operator, audited
from delivery.protocol.commands import Post


def post_by_hand(
    *,
    queue: str,
    tags: Sequence[str],
    body: str,
    priority: int,
    delay: timedelta | None,
    ttl: timedelta | None,
    key: str,
    by: Operator,
) -> Stored:
    """Store it, as a program's post is stored, and return where."""
    command = Post(
        queues=(queue,),
        tags=tuple(tags),
        message=body.encode(),
        notify=frozenset({"sync"}),
        priority=priority,
        delay=delay.total_seconds() if delay else None,
        ttl=ttl.total_seconds() if ttl else None,
        key=key or None,
    )
    with audited(by=by, action="post message", target=queue, details={"priority": priority}) as tally:
        [stored] = http.post(command, by=OPERATOR)
        tally.done = 1
    return stored
