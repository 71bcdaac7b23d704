"""How many bytes commands and frames take, roughly: everything counts that a client chooses, not only bodies."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import Struct

from delivery.protocol.commands import Command, Finish, Post
from delivery.protocol.frames import (
    Config,
    Error,
    Frame,
    Message,
    Notice,
    QueueInfo,
    Registered,
    Subscribed,
    SubscriptionRecord,
    WorkReplyOut,
    WorkRequestOut,
)
from delivery.protocol.service_commands import WorkReply, WorkRequest

FRAME_BYTES = 512  # of a frame in memory, with its numbers and short texts
ITEM_BYTES = 128  # of one of many things in a frame
NUMBER_BYTES = 40  # of one of many numbers in a frame
HEADER_BYTES = 8  # of a header as it is stored, beside its name and its value


def bytes_of_headers(headers: Mapping[str, str] | None) -> int:
    if not headers:
        return 0
    return sum(map(len, headers)) + sum(map(len, headers.values())) + HEADER_BYTES * len(headers)


def bytes_of_copy(post: Post) -> int:
    """Of the message that a post leaves in each of its queues."""
    size = len(post.message)
    if post.headers:
        size += bytes_of_headers(post.headers)
    if post.dedupe:
        size += len(post.dedupe)
    if post.key:
        size += len(post.key)
    if post.group:
        size += len(post.group)
    if post.unique:
        size += len(post.unique)
    return size


def bytes_of_post(post: Post) -> int:
    return bytes_of_copy(post) * len(post.queues)


def bytes_of_command(command: Command) -> int:
    """Of what a command brings that may be large."""
    if isinstance(command, Post):
        return bytes_of_post(command)
    if isinstance(command, Finish):
        return len(command.reply or b"")
    return len(command.body) if isinstance(command, WorkRequest | WorkReply) else 0


def bytes_of_frame(frame: Frame) -> int:
    """What it takes in memory."""
    more = _more_than_a_frame.get(type(frame))
    return FRAME_BYTES if more is None else FRAME_BYTES + more(frame)


def _of_message(frame: Message) -> int:
    size = len(frame.body)
    if frame.tags:
        size += sum(map(len, frame.tags))
    return size + bytes_of_headers(frame.headers) if frame.headers else size


def _of_notice(frame: Notice) -> int:
    return len(frame.reply) if frame.reply else 0


def _of_body(frame: WorkRequestOut | WorkReplyOut) -> int:
    return len(frame.body)


def _of_subscribed(frame: Subscribed) -> int:
    return sum(ITEM_BYTES + len(one.name) + _of_texts(one.tags) for one in frame.queues)


def _of_registered(frame: Registered) -> int:
    return sum(map(_of_subscription, frame.subscribed_to))


def _of_subscription(record: SubscriptionRecord) -> int:
    return ITEM_BYTES + len(record.name) + _of_texts(record.tags) + NUMBER_BYTES * len(record.outstanding_index)


def _of_texts(texts: Collection[str]) -> int:
    return sum(map(len, texts)) if texts else 0


_more_than_a_frame: dict[type[Struct], Callable[[Any], int]] = {
    Message: _of_message,
    Notice: _of_notice,
    WorkRequestOut: _of_body,
    WorkReplyOut: _of_body,
    Subscribed: _of_subscribed,
    Registered: _of_registered,
    QueueInfo: lambda frame: _of_texts(frame.tags),
    Error: lambda frame: len(frame.key) + len(frame.message),
    Config: lambda frame: len(frame.config or ""),
}
