"""The queue of a service, and the identifier by which a worker names a request."""

from typing import Protocol

from delivery.protocol.errors import Code, WillowError
from queues.definitions import NAME_LENGTH, SERVICE_PREFIX
from queues.integer_ranges import BIGINT_MAX

LONGEST_NAME = NAME_LENGTH - len(SERVICE_PREFIX)  # characters

RequestNumbers = tuple[int, int, int]  # shard, sequence and index


class Numbered(Protocol):
    @property
    def queue_id(self) -> int: ...

    @property
    def sequence(self) -> int: ...

    @property
    def index(self) -> int: ...


def queue_of(service: str, *, field: str = "service") -> str:
    """`field` is where the name was given: what an error blames."""
    if len(service) > LONGEST_NAME:
        raise WillowError(Code.BAD_REQUEST, field, f"The name of a service has at most {LONGEST_NAME} characters.")
    return SERVICE_PREFIX + service


def stream_is_no_service(queue_name: str, *, field: str) -> WillowError:
    """Messages of a stream go to all who read it, and end for none of them: nobody could reply."""
    return WillowError(Code.BAD_REQUEST, field, f"The queue {queue_name} is a stream, which cannot be a service.")


def is_service_queue(queue_name: str) -> bool:
    return queue_name.startswith(SERVICE_PREFIX)


def service_of(queue_name: str) -> str:
    return queue_name.removeprefix(SERVICE_PREFIX)


def request_identifier(request: Numbered) -> str:
    """The index is part of it: an identifier stands for one request for ever, though sequences are used again."""
    return f"{request.queue_id}.{request.sequence}.{request.index}"


def request_numbers(identifier: str) -> RequestNumbers | None:
    """What an identifier stands for, or None if the broker never made it."""
    parts = identifier.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 19 for part in parts):
        return None
    shard, sequence, index = map(int, parts)
    return (shard, sequence, index) if max(shard, sequence, index) <= BIGINT_MAX else None
