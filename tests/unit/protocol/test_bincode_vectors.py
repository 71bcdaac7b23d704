"""bincode byte for byte: every variant of the protocol, written out by hand."""

import pytest
from msgspec import structs

from delivery.protocol import bincode
from delivery.protocol.commands import (
    Cancel,
    ClaimId,
    Create,
    Fail,
    Fetch,
    Finish,
    Keepalive,
    Pop,
    Post,
    Register,
    Release,
    Subscribe,
    Unsubscribe,
)
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
from delivery.protocol.service_commands import (
    CheckConfig,
    ClientPong,
    NeedBroker,
    Ping,
    Ready,
    WorkError,
    WorkReply,
    WorkRequest,
)
from delivery.protocol.variants import COMMAND_VARIANTS, FRAME_VARIANTS, WithExtras
from tests.unit.protocol.samples import LIMITS

ENCODER = bincode.Encoder(LIMITS)
ENCODER_WITH_EXTRAS = bincode.Encoder(LIMITS, extras=True)

COMMAND_VECTORS = {
    "post with everything": (
        "00000000"
        "0200000000000000 0100000000000000 61 0200000000000000 6262"  # queue: a, bb
        "0100000000000000 0200000000000000 6575"  # tags: eu
        "0300000000000000 ff0061"  # message
        "07000000"  # priority: 7
        "ffffffffffffffff"  # label
        "0200000000000000 02000000 06000000"  # notify: sync, drop
        "01 0100000000000000 6b"  # key: k
        "01 000000000000f83f"  # delay: 1.5
        "01 000000000020ac40"  # ttl: 3600
        "01 0100000000000000 64",  # dedupe: d
        Post(
            queues=("a", "bb"),
            tags=("eu",),
            message=b"\xff\x00a",
            priority=7,
            label=2**64 - 1,
            notify=frozenset({"sync", "drop"}),
            key="k",
            delay=1.5,
            ttl=3600.0,
            dedupe="d",
        ),
    ),
    "post with nothing": (
        "00000000 0100000000000000 0100000000000000 71 0000000000000000 0000000000000000"
        "00000000 0000000000000000 0000000000000000 00 00 00 00",
        Post(queues=("q",), message=b"", label=0),
    ),
    "pop with everything": (
        "01000000 0100000000000000 71"
        "0100000000000000 0100000000000000 74"  # tags: t
        "01 03000000"  # match: combined
        "01 0000000000002440"  # timeout: 10
        "01 14000000"  # count: 20
        "2a00000000000000",  # label
        Pop(queue="q", tags=("t",), match="combined", timeout=10.0, count=20, label=42),
    ),
    "pop with nothing": (
        "01000000 0100000000000000 71 0000000000000000 00 00 00 0100000000000000",
        Pop(queue="q", label=1),
    ),
    "fetch with everything": (
        "02000000 0100000000000000 71"
        "0100000000000000 0100000000000000 74"  # tags: t
        "01 04000000"  # match: any
        "0000000000003e40"  # block_timeout: 30
        "01 0000000000004e40"  # work_timeout: 60
        "02000000"  # sync: sync
        "01 10270000"  # count: 10000
        "2b00000000000000",  # label
        Fetch(
            queue="q",
            tags=("t",),
            match="any",
            block_timeout=30.0,
            work_timeout=60.0,
            sync="sync",
            count=10_000,
            label=43,
        ),
    ),
    "fetch with nothing": (
        "02000000 0100000000000000 71 0000000000000000 00 0000000000000000 00 01000000 00 0200000000000000",
        Fetch(queue="q", label=2),
    ),
    "finish with everything": (
        "03000000 0100000000000000 71"
        "1100000000000000"  # sequence: 17
        "0300000000000000"  # shard: 3
        "01 6360010000000000"  # index: 90211
        "01 2c00000000000000"  # label: 44
        "01 01000000"  # response: write
        "01 0200000000000000 6f6b",  # reply: ok
        Finish(queue="q", sequence=17, shard=3, index=90_211, label=44, response="write", reply=b"ok"),
    ),
    "finish with nothing": (
        "03000000 0100000000000000 71 1100000000000000 0300000000000000 00 00 00 00",
        Finish(queue="q", sequence=17, shard=3),
    ),
    "fail with everything": (
        "04000000 0100000000000000 71 1100000000000000 0300000000000000"
        "01 6360010000000000"  # index: 90211
        "01 2d00000000000000"  # label: 45
        "01 00000000"  # response: ready
        "01 0400000000000000 6f6f7073"  # error: oops
        "01 0000000000004e40",  # delay: 60
        Fail(
            queue="q",
            sequence=17,
            shard=3,
            index=90_211,
            label=45,
            response="ready",
            error="oops",
            delay=60.0,
        ),
    ),
    "fail with nothing": (
        "04000000 0100000000000000 71 1100000000000000 0300000000000000 00 00 00 00 00",
        Fail(queue="q", sequence=17, shard=3),
    ),
    "keepalive for one": (
        "05000000 01 0100000000000000 71 01 1100000000000000 01 0300000000000000"
        "01 6360010000000000 01 0500000000000000",
        Keepalive(queue="q", sequence=17, shard=3, index=90_211, label=5),
    ),
    "keepalive for all": ("05000000 00 00 00 00 00", Keepalive()),
    "create with everything": (
        "06000000 0100000000000000 71 0100000000000000 0100000000000000 74"
        "01 01000000"  # kind: stream
        "01 05000000"  # retry_limit: 5
        "01 0000000000c07240"  # heartbeat_timeout: 300
        "01 000000000000f03f"  # retry_delay: 1
        "01 0000000000000040"  # retry_backoff: 2
        "01 a086010000000000"  # max_length: 100000
        "01 01000000"  # overflow: drop_oldest
        "01 01"  # updatable: true
        "2e00000000000000"  # label: 46
        "01 000000000020ac40"  # retention_seconds: 3600
        "01 0a00000000000000"  # retention_count: 10
        "01 00"  # retention_acked: false
        "01 01"  # keep_bodies: true
        "01 0000000000c07240",  # retry_delay_max: 300
        Create(
            queue="q",
            tags=("t",),
            kind="stream",
            retry_limit=5,
            heartbeat_timeout=300.0,
            retry_delay=1.0,
            retry_backoff=2.0,
            max_length=100_000,
            overflow="drop_oldest",
            updatable=True,
            label=46,
            retention_seconds=3600.0,
            retention_count=10,
            retention_acked=False,
            keep_bodies=True,
            retry_delay_max=300.0,
        ),
    ),
    "create with nothing": (
        "06000000 0100000000000000 71 000000000000000000 00 00 00 00 00 00 00 0000000000000000 00 00 00 00 00",
        Create(queue="q", label=0),
    ),
    "subscribe with everything": (
        "07000000 0100000000000000 71 0100000000000000 0100000000000000 74"
        "01 02000000"  # match: strict
        "01 32000000"  # in_flight: 50
        "01 0000000000004e40"  # work_timeout: 60
        "01 00000000"  # sync: ready
        "2f00000000000000"  # label: 47
        "01 02000000 6360010000000000",  # from: index 90211
        Subscribe(
            queue="q",
            tags=("t",),
            match="strict",
            in_flight=50,
            work_timeout=60.0,
            sync="ready",
            label=47,
            from_=90_211,
        ),
    ),
    "subscribe with nothing": (
        "07000000 0100000000000000 71 0000000000000000 00 00 00 00 0000000000000000 00",
        Subscribe(queue="q", in_flight=16, sync="write", label=0),
    ),
    "subscribe from new": (
        "07000000 0100000000000000 71 0000000000000000 00 00 00 00 0000000000000000 01 00000000",
        Subscribe(queue="q", label=0, from_="new"),
    ),
    "subscribe from oldest": (
        "07000000 0100000000000000 71 0000000000000000 00 00 00 00 0000000000000000 01 01000000",
        Subscribe(queue="q", label=0, from_="oldest"),
    ),
    "unsubscribe": ("08000000 2f00000000000000", Unsubscribe(label=47)),
    "register": (
        "09000000 0200000000000000 6231 01 3000000000000000",
        Register(name="b1", persistent=True, label=48),
    ),
    "checkconfig with everything": (
        "0a000000 02000000 01 0100000000000000 37 0200000000000000 7731"
        "0200000000000000 0100000000000000 61 0100000000000000 62",
        CheckConfig(config_type="ZFL", config_version="7", identity="w1", services=("a", "b")),
    ),
    "checkconfig with nothing": (
        "0a000000 00000000 00 0200000000000000 7731 0100000000000000 0100000000000000 61",
        CheckConfig(config_type="JSON", identity="w1", services=("a",)),
    ),
    "ready with everything": (
        "0b000000 0100000000000000 0100000000000000 61"
        "0000000000001440"  # heartbeat_interval: 5
        "000000000000f83f"  # time: 1.5
        "0100000000000000 37"  # config_version: 7
        "01 04000000",  # slots: 4
        Ready(services=("a",), heartbeat_interval=5.0, time=1.5, config_version="7", slots=4),
    ),
    "ready with nothing": (
        "0b000000 0100000000000000 0100000000000000 610000000000001440 000000000000f83f 0100000000000000 37 00",
        Ready(services=("a",), heartbeat_interval=5.0, time=1.5, config_version="7", slots=1),
    ),
    "ping": ("0c000000 000000000000f83f 0100000000000000 37", Ping(time=1.5, config_version="7")),
    "workrequest with everything": (
        "0d000000 0100000000000000 61 0200000000000000 fffe 3c00000000000000 01 0000000000003440",
        WorkRequest(service="a", body=b"\xff\xfe", label=60, timeout=20.0),
    ),
    "workrequest with nothing": (
        "0d000000 0100000000000000 61 0000000000000000 0000000000000000 00",
        WorkRequest(service="a", body=b"", label=0),
    ),
    "workreply": (
        "0e000000 0200000000000000 7738 0200000000000000 6f6b 000000000000f83f 0100000000000000 37",
        WorkReply(work_request_identifier="w8", body=b"ok", time=1.5, config_version="7"),
    ),
    "needbroker": (
        "0f000000 0200000000000000 7731 0100000000000000 0100000000000000 61",
        NeedBroker(identity="w1", services=("a",)),
    ),
    "pong": (
        "10000000 000000000000f83f 0100000000000000 37",
        ClientPong(time=1.5, config_version="7"),
    ),
    "post with extras": (
        "11000000 0100000000000000 0100000000000000 71 0000000000000000 0100000000000000 6d"
        "00000000 0900000000000000 0000000000000000 00 00 00 00"
        "0400000000000000"  # extras
        "00000000 0100000000000000 61 0200000000000000 c3a9"  # header a: é
        "01000000 0100000000000000 67"  # group: g
        "02000000 0100000000000000 75"  # unique: u
        "00000000 0100000000000000 62 0000000000000000",  # header b, empty
        Post(queues=("q",), message=b"m", label=9, headers={"a": "é", "b": ""}, group="g", unique="u"),
    ),
    "post with no extras": (
        "11000000 0100000000000000 0100000000000000 71 0000000000000000 0000000000000000"
        "00000000 0000000000000000 0000000000000000 00 00 00 00 0000000000000000",
        Post(queues=("q",), message=b"", label=0),
    ),
    "create with extras": (
        "12000000 0100000000000000 71 000000000000000000 00 00 00 00 00 00 00 0000000000000000 00 00 00 00 00"
        "0500000000000000"  # extras
        "00000000 01000000"  # group_in_flight: 1
        "01000000 0a000000"  # max_in_flight: 10
        "02000000 000000000000e03f"  # rate: 0.5
        "03000000 0000000000001440"  # burst: 5
        "04000000 000000000020ac40",  # keep_replies: 3600
        Create(queue="q", label=0, group_in_flight=1, max_in_flight=10, rate=0.5, burst=5.0, keep_replies=3600.0),
    ),
    "finish with an attempt": (
        "13000000 0100000000000000 71 1100000000000000 0300000000000000 00 00 00 000100000000000000 04000000 02000000",
        Finish(queue="q", sequence=17, shard=3, attempt=2),
    ),
    "fail with an attempt": (
        "14000000 0100000000000000 71 1100000000000000 0300000000000000 00 00 00 00 00"
        "0100000000000000 04000000 ffffffff",
        Fail(queue="q", sequence=17, shard=3, attempt=2**32 - 1),
    ),
    "fail that is final": (
        "14000000 0100000000000000 71 1100000000000000 0300000000000000 00 00 00 00 00 0100000000000000 07000000",
        Fail(queue="q", sequence=17, shard=3, final=True),
    ),
    "keepalive with an attempt": (
        "15000000 01 0100000000000000 71 01 1100000000000000 01 0300000000000000 00 00"
        "0100000000000000 04000000 01000000",
        Keepalive(queue="q", sequence=17, shard=3, attempt=1),
    ),
    "release of two": (
        "16000000 0200000000000000"
        "0100000000000000 71 1100000000000000 0300000000000000 01 6360010000000000 01 02000000"
        "0100000000000000 72 1200000000000000 0400000000000000 00 00"
        "3100000000000000"  # label: 49
        "01 01000000",  # response: write
        Release(
            messages=(ClaimId("q", 17, 3, 90_211, 2), ClaimId("r", 18, 4)),
            label=49,
            response="write",
        ),
    ),
    "release of all": ("16000000 0000000000000000 0000000000000000 00", Release(label=0)),
    "workerror": (
        "17000000 0200000000000000 7738 0400000000000000 6f6f7073 01 01 000000000000f83f 0100000000000000 37",
        WorkError(work_request_identifier="w8", error="oops", final=True, time=1.5, config_version="7"),
    ),
    "workerror that is not final": (
        "17000000 0200000000000000 7738 0000000000000000 00 000000000000f83f 0000000000000000",
        WorkError(work_request_identifier="w8", error="", time=1.5),
    ),
    "cancel": (
        "18000000 0100000000000000 71 0300000000000000 6360010000000000 3200000000000000",
        Cancel(queue="q", shard=3, index=90_211, label=50),
    ),
}

FRAME_VECTORS = {
    "hello": (
        Hello(id="i", node="nn", version="1.0"),
        "00000000 0100000000000000 69 0200000000000000 6e6e 0300000000000000 312e30",
    ),
    "notice with everything": (
        Notice(label=41, notice="finish", shard=3, sequence=17, index=90_211, queue="q", reply=b"\xff"),
        "01000000 2900000000000000 04000000 01 0300000000000000 01 1100000000000000 01 6360010000000000"
        "01 0100000000000000 71 01 0100000000000000 ff",
    ),
    "notice with nothing": (
        Notice(label=None, notice="ready"),
        "01000000 0000000000000000 00000000 00 00 00 00 00",
    ),
    "notice keepalive": (
        Notice(label=45, notice="keepalive"),
        "01000000 2d00000000000000 07000000 00 00 00 00 00",
    ),
    "message": (
        Message(
            label=2**64 - 1,
            shard=3,
            sequence=17,
            body=b"\xc3\xa9",
            finished=True,
            queue="q",
            tags=("a", "é"),
            index=90_211,
            attempt=2,
            priority=2**32 - 1,
        ),
        "02000000 ffffffffffffffff 0300000000000000 1100000000000000 0200000000000000 c3a9 01"
        "0100000000000000 71 0200000000000000 0100000000000000 61 0200000000000000 c3a9"
        "6360010000000000 02000000 ffffffff",
    ),
    "message without tags": (
        Message(
            label=None,
            shard=3,
            sequence=0,
            body=b"",
            finished=False,
            queue="q",
            tags=(),
            index=0,
            attempt=1,
            priority=0,
        ),
        "02000000 0000000000000000 0300000000000000 0000000000000000 0000000000000000 00"
        "0100000000000000 71 0000000000000000 0000000000000000 01000000 00000000",
    ),
    "nomessage": (NoMessage(label=43), "03000000 2b00000000000000"),
    "nomessage without label": (NoMessage(label=None), "03000000 0000000000000000"),
    "error": (
        Error(label=41, code=Code.BAD_REQUEST, key="k", message="no"),
        "04000000 01 2900000000000000 03000000 0100000000000000 6b 0200000000000000 6e6f",
    ),
    "error without label": (
        Error(label=None, code=Code.UNAVAILABLE, key="", message="é"),
        "04000000 00 06000000 0000000000000000 0200000000000000 c3a9",
    ),
    "queue": (
        QueueInfo(
            label=46,
            name="q",
            tags=("t",),
            shard=3,
            kind="stream",
            created=True,
            retry_limit=5,
            heartbeat_timeout=300.0,
            retry_delay=1.0,
            retry_backoff=2.0,
            retry_delay_max=60.0,
            max_length=100_000,
            overflow="drop_oldest",
            updatable=False,
            paused=True,
            retention_seconds=3600.0,
            retention_count=10,
            retention_acked=True,
            keep_bodies=False,
        ),
        "05000000 2e00000000000000 0100000000000000 71 0100000000000000 0100000000000000 74"
        "0300000000000000 01000000 01 01 05000000"
        "0000000000c07240 000000000000f03f 0000000000000040 0000000000004e40"
        "01 a086010000000000 01000000 00 01 01 000000000020ac40 01 0a00000000000000 01 00",
    ),
    "queue without bounds": (
        QueueInfo(
            label=None,
            name="q",
            tags=(),
            shard=3,
            kind="work",
            created=False,
            retry_limit=None,
            heartbeat_timeout=300.0,
            retry_delay=1.0,
            retry_backoff=2.0,
            retry_delay_max=60.0,
            max_length=None,
            overflow="reject",
            updatable=True,
            paused=False,
            retention_seconds=None,
            retention_count=None,
            retention_acked=False,
            keep_bodies=True,
        ),
        "05000000 0000000000000000 0100000000000000 71 0000000000000000"
        "0300000000000000 00000000 00 00"
        "0000000000c07240 000000000000f03f 0000000000000040 0000000000004e40"
        "00 00000000 01 00 00 00 00 01",
    ),
    "subscribed": (
        Subscribed(label=47, queues=(QueueIdentity("q", ("t",), 3), QueueIdentity("q", (), 4))),
        "06000000 2f00000000000000 0200000000000000"
        "0100000000000000 71 0100000000000000 0100000000000000 74 0300000000000000"
        "0100000000000000 71 0000000000000000 0400000000000000",
    ),
    "registered": (
        Registered(
            label=48,
            name="b",
            persistent=True,
            defined_at="2026",
            subscribed_to=(SubscriptionRecord("q", ("t",), 1, (2, 3)),),
        ),
        "07000000 3000000000000000 0100000000000000 62 01 0400000000000000 32303236 0100000000000000"
        "0100000000000000 71 0100000000000000 0100000000000000 74 0100000000000000"
        "0200000000000000 0200000000000000 0300000000000000",
    ),
    "config": (
        Config(config_type="XML", config_version="7", config="<a/>"),
        "08000000 01000000 0100000000000000 37 01 0400000000000000 3c612f3e",
    ),
    "config that is current": (
        Config(config_type="JSON", config_version="7", config=None),
        "08000000 00000000 0100000000000000 37 00",
    ),
    "readyok": (
        ReadyOk(time=1.5, config_version="7"),
        "09000000 000000000000f83f 0100000000000000 37",
    ),
    "pong": (Pong(time=1.5, config_version="7"), "0a000000 000000000000f83f 0100000000000000 37"),
    "workrequest": (
        WorkRequestOut(work_request_identifier="w8", service="a", body=b"\xff", time=1.5, config_version="7"),
        "0b000000 0200000000000000 7738 0100000000000000 61 0100000000000000 ff000000000000f83f 0100000000000000 37",
    ),
    "workreply": (
        WorkReplyOut(label=60, work_request_identifier="w8", body=b"ok"),
        "0c000000 3c00000000000000 0200000000000000 7738 0200000000000000 6f6b",
    ),
    "changebroker": (
        ChangeBroker(node="n", url="ws://h/"),
        "0d000000 0100000000000000 6e 0700000000000000 77733a2f2f682f",
    ),
    "disconnecterror": (
        DisconnectError(code=503, message="no"),
        "0e000000 f7010000 0200000000000000 6e6f",
    ),
    "forcenegotiate": (ForceNegotiate(), "0f000000"),
    "ping": (
        ServerPing(time=1.5, config_version="7"),
        "10000000 000000000000f83f 0100000000000000 37",
    ),
}

MESSAGE = {
    "label": 1,
    "shard": 3,
    "sequence": 17,
    "body": b"m",
    "finished": False,
    "queue": "q",
    "tags": (),
    "index": 5,
    "attempt": 1,
    "priority": 0,
}
MESSAGE_FIELDS = (
    "0100000000000000 0300000000000000 1100000000000000 0100000000000000 6d 00"
    "0100000000000000 71 0000000000000000 0500000000000000 01000000 00000000"
)
QUEUE = FRAME_VECTORS["queue without bounds"][0]
QUEUE_FIELDS = FRAME_VECTORS["queue without bounds"][1].removeprefix("05000000")

# With extras, and as a client gets it that did not ask for them.
FRAMES_WITH_EXTRAS = {
    "message": (
        Message(**MESSAGE, headers={"a": "é", "b": ""}, group="g", left=0, work_timeout=1.5),
        f"11000000 {MESSAGE_FIELDS} 0500000000000000"
        "00000000 0100000000000000 61 0200000000000000 c3a9"
        "00000000 0100000000000000 62 0000000000000000"
        "01000000 0100000000000000 67"
        "05000000 00000000"
        "06000000 000000000000f83f",
        f"02000000 {MESSAGE_FIELDS}",
    ),
    "notice": (
        Notice(label=41, notice="sync", shard=3, sequence=17, index=5, duplicate=True),
        "12000000 2900000000000000 02000000 01 0300000000000000 01 1100000000000000 01 0500000000000000 00 00"
        "0100000000000000 03000000",
        "01000000 2900000000000000 02000000 01 0300000000000000 01 1100000000000000 01 0500000000000000 00 00",
    ),
    "queue": (
        structs.replace(QUEUE, group_in_flight=1, max_in_flight=10, rate=0.5, burst=5.0, keep_replies=3600.0),
        f"13000000 {QUEUE_FIELDS} 0500000000000000"
        "00000000 01000000 01000000 0a000000 02000000 000000000000e03f 03000000 0000000000001440"
        "04000000 000000000020ac40",
        f"05000000 {QUEUE_FIELDS}",
    ),
}


@pytest.mark.parametrize(
    ("frame", "with_extras", "without"), FRAMES_WITH_EXTRAS.values(), ids=FRAMES_WITH_EXTRAS.keys()
)
def test_extras_are_written_byte_for_byte_for_those_who_asked(frame, with_extras, without):
    assert ENCODER_WITH_EXTRAS.encode(frame).hex() == with_extras.replace(" ", "")
    assert ENCODER.encode(frame).hex() == without.replace(" ", "")


@pytest.mark.parametrize(("frame", "encoded"), FRAME_VECTORS.values(), ids=FRAME_VECTORS.keys())
def test_a_frame_that_has_no_extras_is_the_same_for_those_who_asked(frame, encoded):
    assert ENCODER_WITH_EXTRAS.encode(frame).hex() == encoded.replace(" ", "")


@pytest.mark.parametrize(("encoded", "command"), COMMAND_VECTORS.values(), ids=COMMAND_VECTORS.keys())
def test_a_command_is_read_byte_for_byte(encoded, command):
    assert bincode.decode(bytes.fromhex(encoded), LIMITS) == [command]


@pytest.mark.parametrize(("frame", "encoded"), FRAME_VECTORS.values(), ids=FRAME_VECTORS.keys())
def test_a_frame_is_written_byte_for_byte(frame, encoded):
    assert ENCODER.encode(frame).hex() == encoded.replace(" ", "")


def test_every_variant_has_a_vector():
    numbers = {int.from_bytes(bytes.fromhex(encoded)[:4], "little") for encoded, _ in COMMAND_VECTORS.values()}
    assert numbers == set(range(len(COMMAND_VARIANTS)))
    with_extras = {WithExtras(type(frame)) for frame, _, _ in FRAMES_WITH_EXTRAS.values()}
    assert {type(frame) for frame, _ in FRAME_VECTORS.values()} | with_extras == set(FRAME_VARIANTS)


def test_commands_stand_back_to_back():
    encoded = "".join(encoded for encoded, _ in COMMAND_VECTORS.values())
    assert bincode.decode(bytes.fromhex(encoded), LIMITS) == [command for _, command in COMMAND_VECTORS.values()]


def test_a_batch_is_its_frames_back_to_back():
    frames = [frame for frame, _ in FRAME_VECTORS.values()]
    assert ENCODER.encode_batch(frames) == [bytes.fromhex("".join(encoded for _, encoded in FRAME_VECTORS.values()))]


@pytest.mark.parametrize(
    ("number", "stage"),
    list(enumerate(["ready", "write", "sync", "assign", "finish", "retry", "drop", "keepalive"])),
)
def test_the_numbers_of_stages(number, stage):
    encoded = ENCODER.encode(Notice(label=0, notice=stage)).hex()
    assert encoded == f"01000000 0000000000000000 0{number}000000 00 00 00 00 00".replace(" ", "")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (0, "NoObject"),
        (1, "ObjectAlreadyExists"),
        (2, "PermissionDenied"),
        (3, "BadRequest"),
        (4, "TooLarge"),
        (5, "Overloaded"),
        (6, "Unavailable"),
        (7, "Failed"),
    ],
)
def test_the_numbers_of_error_codes(number, code):
    encoded = ENCODER.encode(Error(label=None, code=Code(code), key="", message="")).hex()
    assert encoded == f"04000000 00 0{number}000000 0000000000000000 0000000000000000".replace(" ", "")


@pytest.mark.parametrize(("number", "match"), list(enumerate(["all", "exact", "strict", "combined", "any"])))
def test_the_numbers_of_matches(number, match):
    encoded = f"01000000 0100000000000000 71 0000000000000000 01 0{number}000000 00 00 0000000000000000"
    assert bincode.decode(bytes.fromhex(encoded), LIMITS) == [Pop(queue="q", match=match, label=0)]
