"""Commands as JSON: what may be left out, and the several forms that a value can have."""

import json
import tracemalloc

import pytest

from delivery.protocol.commands import ClaimId, Fetch, Keepalive, Pop, Post, Release, Subscribe
from delivery.protocol.errors import FrameError
from delivery.protocol.json import LARGE_BYTES, decode
from delivery.protocol.limits import Limits
from delivery.protocol.service_commands import Ready
from tests.unit.protocol.samples import LIMITS

POST = {"type": "post", "queue": "q", "message": "m"}


def decoded(**command):
    [result] = decode(json.dumps(command), LIMITS)
    return result


def test_a_post_needs_a_queue_and_a_message_only():
    assert decoded(**POST) == Post(
        queues=("q",),
        tags=(),
        message=b"m",
        priority=0,
        label=None,
        notify=frozenset(),
        key=None,
        delay=None,
        ttl=None,
        dedupe=None,
    )


def test_the_defaults_of_the_protocol():
    assert decoded(type="fetch", queue="q") == Fetch(queue="q", block_timeout=0.0, sync="write")
    assert decoded(type="subscribe", queue="q") == Subscribe(queue="q", in_flight=16, sync="write")
    ready = {"services": ["s"], "heartbeat_interval": 5, "time": 1, "config_version": "v"}
    assert decoded(type="ready", **ready) == Ready(
        services=("s",), heartbeat_interval=5.0, time=1.0, config_version="v", slots=1
    )
    assert decoded(type="keepalive") == Keepalive()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("q", ("q",)),
        (["q"], ("q",)),
        (["b", "a"], ("b", "a")),
        (["b", "a", "b"], ("b", "a")),
        (" ~", (" ~",)),
        ("x" * 200, ("x" * 200,)),
    ],
)
def test_a_post_names_one_queue_or_several(given, names):
    assert decoded(**POST | {"queue": given}).queues == names


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ("", b""),
        ("é\u0000", b"\xc3\xa9\x00"),
        ("\U0001f642", b"\xf0\x9f\x99\x82"),
        ([], b""),
        ([0, 255], b"\x00\xff"),
        ({"base64": ""}, b""),
        ({"base64": "AP8="}, b"\x00\xff"),
        ({"base64": "++//"}, b"\xfb\xef\xff"),
        ({"base64": "YQ==", "unknown": 1}, b"a"),
    ],
)
def test_a_body_is_a_text_a_list_of_bytes_or_base64(given, body):
    assert decoded(**POST | {"message": given}).message == body
    assert decoded(type="finish", queue="q", shard=1, sequence=1, reply=given).reply == body
    assert decoded(type="workrequest", service="s", body=given).body == body
    assert decoded(type="workreply", work_request_identifier="w", time=1, body=given).body == body


@pytest.mark.parametrize("field", ["tags", "priority", "label", "notify", "key", "delay", "ttl", "dedupe", "unknown"])
def test_null_means_left_out(field):
    assert decoded(**POST | {field: None}) == decoded(**POST)


def test_null_does_not_stand_for_what_a_command_needs():
    assert decoded(**POST | {"queue": None}).key == "queue"
    assert decoded(type=None).key == "type"


def test_unknown_fields_are_ignored():
    assert decoded(**POST | {"colour": {"r": [1, 2.5, None]}}) == decoded(**POST)


def test_the_last_of_two_equal_keys_counts():
    assert decode('{"type":"pop","queue":"a","queue":"b"}', LIMITS) == [Pop(queue="b")]
    assert decode('{"type":"ping","type":"pop","queue":"b"}', LIMITS) == [Pop(queue="b")]


def test_repeated_stages_do_no_harm():
    assert decoded(**POST | {"notify": ["sync", "sync", "ready"]}).notify == {"sync", "ready"}


@pytest.mark.parametrize("start", ["new", "oldest", 0, 2**64 - 1])
def test_where_a_subscription_starts(start):
    assert decoded(type="subscribe", queue="q", **{"from": start}).from_ == start


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("label", 2**64 - 1),
        ("priority", 2**32 - 1),
        ("delay", 315_360_000),
        ("ttl", 0),
        ("key", "k" * 500),
        ("tags", ["t" * 200] * 64),
        ("group", "g" * 200),
        ("unique", "\U0001f642" * 200),
        ("headers", {"h" * 128: "v" * 4096, "-_.09az": "\U0001f642" * 1024, "c": "", "d": "x" * 4096, "e": "y" * 3957}),
        ("headers", {f"h{number}": "" for number in range(64)}),
    ],
)
def test_the_ends_of_ranges_are_allowed(field, value):
    command = decoded(**POST | {field: value})
    assert getattr(command, field) == (tuple(value) if isinstance(value, list) else value)


def test_a_frame_may_come_as_text_or_bytes_with_space_around():
    text = ' \r\n\t{"type" : "pop", "queue" : "q", "tags" : ["é"]} '
    assert decode(text, LIMITS) == decode(text.encode(), LIMITS) == [Pop(queue="q", tags=("é",))]


def test_a_long_array_of_commands_stays_in_order():
    frame = json.dumps([{"type": "unsubscribe", "label": label} for label in range(1000)])
    assert [command.label for command in decode(frame, LIMITS)] == list(range(1000))


def test_names_of_fields_may_be_escaped():
    assert decode(r'{"t\u0079pe":"p\u006fp","queue":"q","label":null}', LIMITS) == [Pop(queue="q")]
    [error] = decode(r'{"t\u0079pe":"p\u006fp","qu\u0065ue":5}', LIMITS)
    assert isinstance(error, FrameError)
    assert error.key == "queue"


CLAIM = {"queue": "q", "sequence": 17, "shard": 3}


def test_a_release_names_one_message_several_or_none():
    assert decoded(type="release") == Release()
    assert decoded(type="release", messages=[]) == Release()
    assert decoded(type="release", **CLAIM, index=5, attempt=2, label=9) == Release(
        messages=(ClaimId("q", 17, 3, 5, 2),), label=9
    )
    assert decoded(type="release", **CLAIM) == decoded(type="release", messages=[CLAIM])
    several = decoded(type="release", messages=[CLAIM, CLAIM | {"index": 5}], response="sync")
    assert several == Release(messages=(ClaimId("q", 17, 3), ClaimId("q", 17, 3, 5)), response="sync")


def test_the_attempt_of_a_claim():
    assert decoded(type="finish", **CLAIM, attempt=2).attempt == 2
    assert decoded(type="fail", **CLAIM, attempt=2).attempt == 2
    assert decoded(type="keepalive", **CLAIM, attempt=2).attempt == 2
    assert decoded(type="finish", **CLAIM).attempt is None


def test_whether_a_position_is_forgotten_is_said_in_json_only():
    assert decoded(type="unsubscribe", label=1, forget=True).forget is True
    assert decoded(type="unsubscribe", label=1).forget is False


def test_a_large_frame_means_the_same_as_a_small_one():
    """It is taken apart, which a small one is not."""
    body = '"\\\\{[,]},' * 150_000
    commands = [POST | {"message": body, "label": label, "tags": ["é"]} for label in range(2)]
    [first, second] = decode(json.dumps(commands), Limits(10_000_000, 20_000_000))
    assert (first.message, first.tags, first.label) == (body.encode(), ("é",), 0)
    assert (second.message, second.label) == (body.encode(), 1)
    [alone] = decode(json.dumps(commands[1]), Limits(10_000_000, 20_000_000))
    assert alone == second


def test_a_large_frame_of_lists_of_bytes_is_read():
    commands = [POST | {"message": [number % 256] * 200_000, "label": number} for number in range(8)]
    decoded_commands = decode(json.dumps(commands), Limits(10_000_000, 20_000_000))
    assert [command.message for command in decoded_commands] == [bytes(command["message"]) for command in commands]


def test_a_large_body_is_not_copied_to_be_decoded() -> None:
    """What the process that decodes large frames takes counts with the broker's memory."""
    size = 4 * LARGE_BYTES
    limits = Limits(max_body_bytes=size, max_frame_bytes=2 * size)
    frame = json.dumps({"type": "post", "queue": "q", "message": "x" * size, "label": 1, "unknown": [None]}).encode()
    tracemalloc.start()
    try:
        [post] = decode(frame, limits)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(post, Post) and len(post.message) == size
    assert peak_bytes < 2.5 * size, "its text and its bytes"
