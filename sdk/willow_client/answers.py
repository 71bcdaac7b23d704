"""What a worker and its broker say when something cannot be done; and the reply, when it can."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from willow_client.bodies import check_is_text, to_wire
from willow_client.commands import Command, Reply, WorkError
from willow_client.errors import BadRequest, told_to_broker
from willow_client.frames import DisconnectError
from willow_client.outcomes import Outcome, Retry


def is_being_cancelled() -> bool:
    """Whether this task itself is, and not only something that a handler awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


Answer: TypeAlias = Callable[[str, dict[str, Any]], Command]  # of an identifier, with the time of sending


def reply_with(reply: Any) -> Answer:
    body = to_wire("reply", "" if reply is None else reply)
    if isinstance(body, str):
        check_is_text("reply", body)  # here, where it can still be told
    return lambda identifier, stamp: Reply(work_request_identifier=identifier, body=body, **stamp)


def failure_of(error: BaseException) -> Answer:
    text = error.told if isinstance(error, Outcome) else told_to_broker(error)
    final = not isinstance(error, Retry)
    return lambda identifier, stamp: WorkError(work_request_identifier=identifier, error=text, final=final, **stamp)


BLAMED_FIELDS = {400: "time", 426: "config_version", 501: "type"}  # by the code of a dismissal


def dismissal(frame: DisconnectError) -> BadRequest:
    """Why the broker will not have this worker."""
    return BadRequest("BadRequest", BLAMED_FIELDS.get(frame.code, "worker"), frame.message)
