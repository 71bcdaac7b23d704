"""What counts of a command or frame: at least what it is on the wire."""

import pytest

from delivery.protocol import json
from delivery.protocol.commands import Finish, Post
from delivery.protocol.errors import Code
from delivery.protocol.frames import (
    Config,
    Error,
    Frame,
    Message,
    NoMessage,
    Notice,
    QueueIdentity,
    Registered,
    Subscribed,
    SubscriptionRecord,
    WorkReplyOut,
    WorkRequestOut,
)
from delivery.protocol.limits import Limits
from delivery.protocol.service_commands import WorkReply
from delivery.protocol.sizes import bytes_of_command, bytes_of_copy, bytes_of_frame, bytes_of_post

LARGE = 16_000
TEXT = "x" * LARGE
TAGS = tuple(f"{number:0200}" for number in range(64))
HEADERS = {f"header-{number}": "x" * 240 for number in range(64)}
QUEUES = tuple(QueueIdentity("queue", ("tag", str(number)), number) for number in range(1000))
SUBSCRIPTIONS = (
    *(SubscriptionRecord("queue", (str(number),), 0, ()) for number in range(1000)),
    SubscriptionRecord("stream", (), 2**40, tuple(range(2**40, 2**40 + 1000))),
)
FRAMES = [
    Message(1, 2, 3, TEXT.encode(), False, "queue", (), 4, 1, 0),
    Message(1, 2, 3, b"", False, "queue", TAGS, 4, 1, 0),
    Message(1, 2, 3, b"", False, "queue", (), 4, 1, 0, headers=HEADERS),
    Notice(1, "finish", reply=TEXT.encode()),
    Subscribed(1, QUEUES),
    Registered(1, "client", True, "now", SUBSCRIPTIONS),
    Config("JSON", "1", TEXT),
    Error(1, Code.BAD_REQUEST, "key", TEXT),
    WorkRequestOut("1", "service", TEXT.encode(), 0.0, "1"),
    WorkReplyOut(1, "1", TEXT.encode()),
    NoMessage(1),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_counts_with_everything_that_is_sent(frame: Frame) -> None:
    encoder = json.Encoder(Limits(max_body_bytes=2**24, max_frame_bytes=2**25))
    assert bytes_of_frame(frame) >= len(encoder.encode(frame))


def test_a_post_counts_with_its_headers_and_texts_in_each_of_its_queues() -> None:
    post = Post(queues=["a", "b", "c"], message=b"12345", headers={"name": "value"}, dedupe="ddd", key="k", group="gg")
    assert bytes_of_copy(post) == 5 + (4 + 5 + 8) + 3 + 1 + 2
    assert bytes_of_command(post) == bytes_of_post(post) == 3 * bytes_of_copy(post)


def test_replies_count() -> None:
    assert bytes_of_command(Finish("queue", 1, 1, reply=TEXT.encode())) == LARGE
    assert bytes_of_command(WorkReply("1/1/1", TEXT.encode(), 0.0)) == LARGE
