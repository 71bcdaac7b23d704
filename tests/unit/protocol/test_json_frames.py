"""Frames as JSON text, letter for letter."""

import base64
import json

import pytest

from delivery.protocol.errors import Code
from delivery.protocol.frames import (
    ChangeBroker,
    Config,
    DisconnectError,
    Error,
    ForceNegotiate,
    Hello,
    Message,
    NoMessage,
    Notice,
    Pong,
    QueueIdentity,
    QueueInfo,
    ReadyOk,
    Registered,
    ServerPing,
    Subscribed,
    SubscriptionRecord,
    WorkReplyOut,
    WorkRequestOut,
)
from delivery.protocol.json import Encoder
from delivery.protocol.limits import Limits
from tests.unit.protocol.samples import LIMITS

encode, encode_batch = Encoder(LIMITS).encode, Encoder(LIMITS).encode_batch

FRAMES = [
    (Hello("i", "n", "1"), '{"type":"hello","id":"i","node":"n","version":"1"}'),
    (Notice(None, "ready"), '{"type":"notice","label":null,"notice":"ready"}'),
    (
        Notice(1, "sync", 3, 17, 5),
        '{"type":"notice","label":1,"notice":"sync","shard":3,"sequence":17,"index":5}',
    ),
    (
        Notice(1, "finish", 3, 0, 0, "q", b""),
        '{"type":"notice","label":1,"notice":"finish","shard":3,"sequence":0,"index":0,"queue":"q","reply":""}',
    ),
    (
        Message(2**64 - 1, 3, 17, "é\0".encode(), False, "q", ("a",), 5, 1, 0),
        '{"type":"message","label":18446744073709551615,"shard":3,"sequence":17,"body":"é\\u0000",'
        '"finished":false,"queue":"q","tags":["a"],"index":5,"attempt":1,"priority":0}',
    ),
    (
        Message(None, 3, 17, b"\xff\x00", True, "q", (), 5, 2, 9),
        '{"type":"message","label":null,"shard":3,"sequence":17,"body":[255,0],'
        '"finished":true,"queue":"q","tags":[],"index":5,"attempt":2,"priority":9}',
    ),
    (
        Message(1, 3, 17, b"", False, "q", (), 5, 1, 0, {"a": "b"}, "g", 0, 30.0),
        '{"type":"message","label":1,"shard":3,"sequence":17,"body":"","finished":false,"queue":"q","tags":[],'
        '"index":5,"attempt":1,"priority":0,"headers":{"a":"b"},"group":"g","left":0,"work_timeout":30.0}',
    ),
    (
        Notice(1, "sync", 3, 17, 5, duplicate=True),
        '{"type":"notice","label":1,"notice":"sync","shard":3,"sequence":17,"index":5,"duplicate":true}',
    ),
    (NoMessage(None), '{"type":"nomessage","label":null}'),
    (
        Error(None, Code.NO_OBJECT, "3/17", "Gone."),
        '{"type":"error","label":null,"code":"NoObject","key":"3/17","message":"Gone."}',
    ),
    (
        QueueInfo(
            label=1,
            name="q",
            tags=(),
            shard=3,
            kind="work",
            created=True,
            retry_limit=None,
            heartbeat_timeout=300.0,
            retry_delay=1.0,
            retry_backoff=2.0,
            retry_delay_max=60.0,
            max_length=None,
            overflow="reject",
            updatable=False,
            paused=False,
            retention_seconds=None,
            retention_count=None,
            retention_acked=False,
            keep_bodies=False,
        ),
        '{"type":"queue","label":1,"name":"q","tags":[],"shard":3,"kind":"work","created":true,'
        '"retry_limit":null,"heartbeat_timeout":300.0,"retry_delay":1.0,"retry_backoff":2.0,'
        '"retry_delay_max":60.0,"max_length":null,"overflow":"reject","updatable":false,"paused":false,'
        '"retention_seconds":null,"retention_count":null,"retention_acked":false,"keep_bodies":false}',
    ),
    (
        Subscribed(1, (QueueIdentity("q", ("t",), 3),)),
        '{"type":"subscribed","label":1,"queues":[{"name":"q","tags":["t"],"shard":3}]}',
    ),
    (
        Registered(1, "b", False, "2026", (SubscriptionRecord("q", (), 7, (8, 9)),)),
        '{"type":"registered","label":1,"name":"b","persistent":false,"defined_at":"2026",'
        '"subscribed_to":[{"name":"q","tags":[],"acked_index":7,"outstanding_index":[8,9]}]}',
    ),
    (
        Config("ZFL", "7", None),
        '{"type":"config","config_type":"ZFL","config_version":"7","config":null}',
    ),
    (ReadyOk(1.5, "7"), '{"type":"readyok","time":1.5,"config_version":"7"}'),
    (Pong(1.5, "7"), '{"type":"pong","time":1.5,"config_version":"7"}'),
    (
        WorkRequestOut("w", "s", b"\x80", 1.5, "7"),
        '{"type":"workrequest","work_request_identifier":"w","service":"s","body":[128],'
        '"time":1.5,"config_version":"7"}',
    ),
    (
        WorkReplyOut(None, "w", b"ok"),
        '{"type":"workreply","label":null,"work_request_identifier":"w","body":"ok"}',
    ),
    (ChangeBroker("n", "ws://h/"), '{"type":"changebroker","node":"n","url":"ws://h/"}'),
    (DisconnectError(503, "no"), '{"type":"disconnecterror","code":503,"message":"no"}'),
    (ForceNegotiate(), '{"type":"forcenegotiate"}'),
    (ServerPing(1.5, "7"), '{"type":"ping","time":1.5,"config_version":"7"}'),
]


@pytest.mark.parametrize(("frame", "text"), FRAMES, ids=[type(frame).__name__ for frame, _ in FRAMES])
def test_a_frame_is_written_letter_for_letter(frame, text):
    assert encode(frame) == text


def test_a_batch_is_an_array():
    assert encode_batch(frame for frame, _ in FRAMES) == [f"[{','.join(text for _, text in FRAMES)}]"]


def message(body):
    return Message(1, 3, 17, body, False, "q", (), 5, 1, 0)


def sent_body(frame, limits, **form):
    text = Encoder(limits, **form).encode(frame)
    assert len(text.encode()) <= limits.max_frame_bytes
    return json.loads(text)["body"]


def test_bytes_that_are_no_text_are_base64_for_who_asked():
    assert sent_body(message(b"\xff\x00"), LIMITS, base64=True) == {"base64": "/wA="}
    assert sent_body(message(b"text"), LIMITS, base64=True) == "text"
    assert json.loads(Encoder(LIMITS, base64=True).encode(Notice(1, "finish", reply=b"\xff")))["reply"] == {
        "base64": "/w=="
    }


@pytest.mark.parametrize(
    ("body", "most_frame_bytes"),
    [
        (b"\xff" * 300, 1000),  # 1200 bytes as a list
        (b"\0" * 300, 1000),  # 1800 as a text
        (b"\xff" * 210, 900),  # 840 as a list, which leaves no room for the rest of the frame
    ],
)
def test_a_body_for_which_the_frame_would_be_too_large_is_base64_for_everybody(body, most_frame_bytes):
    given = sent_body(message(body), Limits(len(body), most_frame_bytes))
    assert base64.b64decode(given["base64"], validate=True) == body


@pytest.mark.parametrize("body", [b"\xff" * 200, b"\x80\x01\x0a" * 100])
def test_a_list_that_fits_stays_a_list(body):
    assert sent_body(message(body), Limits(1000, 1100)) == list(body)


def test_a_batch_is_cut_where_it_would_be_too_large():
    limits = Limits(1000, 1500)
    messages = Encoder(limits).encode_batch([message(b"x" * 500)] * 5)
    assert [len(json.loads(text)) for text in messages] == [2, 2, 1]
    assert all(len(text) <= 1500 for text in messages)
