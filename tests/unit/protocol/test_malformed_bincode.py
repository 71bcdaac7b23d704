"""bincode that no client should send: each gets its error, and what came before it counts."""

import struct
import tracemalloc

import pytest

from delivery.protocol import bincode
from delivery.protocol.bincode import decode
from delivery.protocol.commands import Unsubscribe
from delivery.protocol.errors import Code, FrameError
from delivery.protocol.limits import KEPT_BYTES, MOST_COMMANDS_PER_FRAME, FrameEnds, Limits
from tests.unit.protocol.documented_layouts import command_field_ends, encode_command
from tests.unit.protocol.samples import LIMITS
from tests.unit.protocol.test_bincode_vectors import COMMAND_VECTORS

GOOD = bytes.fromhex("08000000 0700000000000000")
GOOD_COMMAND = Unsubscribe(label=7)

POST = {
    "type": "post",
    "queue": ["q"],
    "tags": [],
    "message": b"m",
    "priority": 0,
    "label": 9,
    "notify": [],
}
POP = {"type": "pop", "queue": "q", "tags": [], "label": 9}
FETCH = POP | {"type": "fetch", "block_timeout": 0.0, "sync": "write"}
FINISH = {"type": "finish", "queue": "q", "sequence": 1, "shard": 1, "label": 9}
FAIL = FINISH | {"type": "fail"}
CREATE = POP | {"type": "create"}
SUBSCRIBE = POP | {"type": "subscribe"}
NAN, INFINITY = float("nan"), float("inf")

# Well-formed commands with a value that breaks a rule, and the field at fault.
WRONG_VALUES = [
    (POST | {"queue": []}, "queue"),
    (POST | {"queue": [""]}, "queue"),
    (POST | {"queue": ["é"]}, "queue"),
    (POST | {"queue": ["a", "a\nb"]}, "queue"),
    (POST | {"queue": ["x" * 201]}, "queue"),
    (POST | {"queue": [str(number) for number in range(65)]}, "queue"),
    (POST | {"tags": [""]}, "tags"),
    (POST | {"tags": ["a\0b"]}, "tags"),
    (POST | {"tags": ["t"] * 65}, "tags"),
    (POST | {"key": ""}, "key"),
    (POST | {"key": "\0"}, "key"),
    (POST | {"dedupe": "d" * 501}, "dedupe"),
    (POST | {"delay": NAN}, "delay"),
    (POST | {"delay": -1.0}, "delay"),
    (POST | {"delay": INFINITY}, "delay"),
    (POST | {"ttl": -INFINITY}, "ttl"),
    (POST | {"ttl": 1e300}, "ttl"),
    (POP | {"queue": "\x7f"}, "queue"),
    (POP | {"timeout": NAN}, "timeout"),
    (POP | {"count": 0}, "count"),
    (POP | {"count": 10_001}, "count"),
    (FETCH | {"block_timeout": NAN}, "block_timeout"),
    (FETCH | {"work_timeout": -0.1}, "work_timeout"),
    (FETCH | {"sync": "assign"}, "sync"),
    (POST | {"notify": ["sync", "keepalive"]}, "notify"),
    (SUBSCRIBE | {"sync": "drop"}, "sync"),
    (FINISH | {"response": "finish"}, "response"),
    (FINISH | {"queue": ""}, "queue"),
    (FAIL | {"error": "\0"}, "error"),
    (FAIL | {"error": "e" * 10_001}, "error"),
    (FAIL | {"delay": INFINITY}, "delay"),
    ({"type": "keepalive", "queue": "q", "label": 9}, "sequence"),
    ({"type": "keepalive", "sequence": 1, "shard": 1, "label": 9}, "queue"),
    (CREATE | {"retry_limit": 2**31}, "retry_limit"),
    (CREATE | {"heartbeat_timeout": 0.0}, "heartbeat_timeout"),
    (CREATE | {"retry_backoff": 0.0}, "retry_backoff"),
    (CREATE | {"max_length": 0}, "max_length"),
    (SUBSCRIBE | {"in_flight": 0}, "in_flight"),
    (SUBSCRIBE | {"in_flight": 65_536}, "in_flight"),
    ({"type": "register", "name": "ä", "persistent": True, "label": 9}, "name"),
    ({"type": "workrequest", "service": "", "body": b"", "label": 9}, "service"),
    (POST | {"headers": {"A": "v"}}, "headers"),
    (POST | {"headers": {f"h{number}": "" for number in range(65)}}, "headers"),
    (POST | {"group": ""}, "group"),
    (POST | {"unique": "\0"}, "unique"),
    (POST | {"left": 1}, "extras"),
    (POST | {"attempt": 1}, "extras"),
    (FINISH | {"duplicate": True}, "extras"),
    (FAIL | {"headers": {"a": "v"}}, "extras"),
    (CREATE | {"rate": 0.0}, "rate"),
    (CREATE | {"rate": 1e-320}, "rate"),
    (CREATE | {"rate": NAN}, "rate"),
    (CREATE | {"group_in_flight": 0}, "group_in_flight"),
    (CREATE | {"burst": NAN}, "burst"),
    (CREATE | {"keep_replies": NAN}, "keep_replies"),
    (CREATE | {"kind": "stream", "rate": 1.0}, "rate"),
    ({"type": "release", "messages": [{"queue": "é", "sequence": 1, "shard": 1}], "label": 9}, "messages"),
    ({"type": "release", "messages": [], "response": "drop", "label": 9}, "response"),
    ({"type": "cancel", "queue": "", "shard": 1, "index": 1, "label": 9}, "queue"),
]

# Commands that cannot be read, in hex, and the field where reading stopped.
UNREADABLE = [
    ("19000000", "type"),
    ("ffffffff", "type"),
    ("00", "type"),
    ("000000", "type"),
    # Lengths and counts that lie.
    ("00000000 ffffffffffffffff", "queue"),
    ("00000000 0100000000000000 ffffffffffffffff 71", "queue"),
    ("00000000 0100000000000000 0000000000000080 71", "queue"),
    ("01000000 0200000000000000 71", "queue"),
    ("01000000 ffffffffffffff7f 71", "queue"),
    ("01000000 0100000000000000 71 00000000000000ff", "tags"),
    ("01000000 0100000000000000 71 0200000000000000 0100000000000000 74", "tags"),
    ("00000000 0100000000000000 0100000000000000 71 0000000000000000 ffffffff00000000 6d", "message"),
    (
        "00000000 0100000000000000 0100000000000000 71 0000000000000000 0000000000000000"
        "00000000 0900000000000000 ffffffffffffffff 02000000",
        "notify",
    ),
    # Numbers that stand for nothing.
    ("01000000 0100000000000000 71 0000000000000000 02", "match"),
    ("01000000 0100000000000000 71 0000000000000000 ff", "match"),
    ("01000000 0100000000000000 71 0000000000000000 01 05000000", "match"),
    ("01000000 0100000000000000 71 0000000000000000 00 02 0000000000000000", "timeout"),
    ("02000000 0100000000000000 71 0000000000000000 00 0000000000000000 00 08000000", "sync"),
    ("02000000 0100000000000000 71 0000000000000000 00 0000000000000000 00 ffffffff", "sync"),
    ("03000000 0100000000000000 71 0100000000000000 0100000000000000 00 00 01 08000000 00", "response"),
    (
        "00000000 0100000000000000 0100000000000000 71 0000000000000000 0000000000000000"
        "00000000 0900000000000000 0100000000000000 08000000 00 00 00 00",
        "notify",
    ),
    ("06000000 0100000000000000 71 0000000000000000 01 02000000", "kind"),
    ("06000000 0100000000000000 71 0000000000000000 00 00 00 00 00 00 01 02000000", "overflow"),
    ("06000000 0100000000000000 71 0000000000000000 00 00 00 00 00 00 00 01 02", "updatable"),
    ("07000000 0100000000000000 71 0000000000000000 00 00 00 00 0900000000000000 01 03000000", "from"),
    ("09000000 0100000000000000 6e 02 0900000000000000", "persistent"),
    ("0a000000 03000000", "config_type"),
    ("17000000 0100000000000000 77 0000000000000000 01 02", "final"),
    # Extras.
    ("13000000 0100000000000000 71 0100000000000000 0100000000000000 00 00 00 00 0100000000000000 07000000", "extras"),
    ("13000000 0100000000000000 71 0100000000000000 0100000000000000 00 00 00 00 ffffffffffffffff", "extras"),
    (
        "13000000 0100000000000000 71 0100000000000000 0100000000000000 00 00 00 00 8100000000000000"
        + "03000000" * 129,
        "extras",
    ),
    (
        "13000000 0100000000000000 71 0100000000000000 0100000000000000 00 00 00 00"
        "0100000000000000 01000000 ffffffffffffff7f 71",
        "extras",
    ),
    (
        "13000000 0100000000000000 71 0100000000000000 0100000000000000 00 00 00 00"
        "0100000000000000 01000000 0100000000000000 ff",
        "extras",
    ),
    # More items than any list may have.
    ("16000000 1127000000000000" + "00" * 30 * 10_001, "messages"),
    ("01000000 0100000000000000 71 1127000000000000" + "00" * 8 * 10_001, "tags"),
    # Text that is not UTF-8.
    ("01000000 0100000000000000 ff", "queue"),
    ("01000000 0300000000000000 eda080", "queue"),
    ("01000000 0100000000000000 71 0100000000000000 0100000000000000 c3", "tags"),
    ("00000000 0100000000000000 0100000000000000 80", "queue"),
    ("0c000000 0000000000000000 0100000000000000 fe", "config_version"),
]


@pytest.mark.parametrize(("command", "key"), WRONG_VALUES)
def test_a_wrong_value_is_named_and_the_next_command_is_read(command, key):
    first, error, last = decode(GOOD + encode_command(command) + GOOD, LIMITS)
    assert (first, last) == (GOOD_COMMAND, GOOD_COMMAND)
    assert isinstance(error, FrameError)
    assert (error.code, error.key, error.label) == (Code.BAD_REQUEST, key, 9)
    assert f"`{key}`" in error.message
    assert len(error.message) < 300


@pytest.mark.parametrize(("encoded", "key"), UNREADABLE)
def test_what_cannot_be_read_ends_the_frame_and_names_the_field(encoded, key):
    first, error = decode(GOOD + bytes.fromhex(encoded), LIMITS)
    assert first == GOOD_COMMAND
    assert isinstance(error, FrameError)
    assert (error.code, error.key) == (Code.BAD_REQUEST, key)


def test_an_empty_frame_gets_one_error():
    [error] = decode(b"", LIMITS)
    assert (error.code, error.key, error.label) == (Code.BAD_REQUEST, "frame", None)


def test_what_comes_after_an_unreadable_command_is_left_alone():
    frame = GOOD + bytes.fromhex("01000000 0100000000000000 ff") + GOOD
    assert len(decode(frame, LIMITS)) == 2


@pytest.mark.parametrize("encoded", [encoded for encoded, _ in COMMAND_VECTORS.values()], ids=COMMAND_VECTORS.keys())
def test_a_command_cut_off_anywhere_names_the_field_where_it_ends(encoded):
    data = bytes.fromhex(encoded)
    ends = command_field_ends(data)
    for length in range(1, len(data)):
        cut_field = next(field for field, end in ends.items() if end > length)
        first, error = decode(GOOD + data[:length], LIMITS)
        assert first == GOOD_COMMAND
        assert (error.code, error.key) == (Code.BAD_REQUEST, cut_field)


def test_the_label_is_known_once_it_was_read():
    data = encode_command(POST | {"dedupe": "text"})
    assert decode(data[:-1], LIMITS)[0].label == 9
    before_the_label = command_field_ends(data)["priority"]
    assert decode(data[:before_the_label], LIMITS)[0].label is None


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**40])
def test_a_length_that_lies_allocates_nothing(number):
    lie = struct.pack("<Q", number)
    frames = [
        bytes.fromhex("00000000") + lie + bytes(1000),
        bytes.fromhex("01000000") + lie + bytes(1000),
        bytes.fromhex("00000000 0100000000000000 0100000000000000 71") + lie,
        bytes.fromhex("00000000 0100000000000000 0100000000000000 71 0000000000000000") + lie,
    ]
    tracemalloc.start()
    for frame in frames:
        [error] = decode(frame, LIMITS)
        assert error.code is Code.BAD_REQUEST
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 100_000


def test_a_frame_over_the_limit_is_not_read():
    [error] = decode(GOOD * 100, Limits(max_body_bytes=10, max_frame_bytes=1199))
    assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "1199", None)


@pytest.mark.parametrize("length", [2000, 100_000])
@pytest.mark.parametrize(
    "command",
    [
        POST | {"key": "k"},
        POST | {"headers": {"a": "b"}},
        FINISH,
        {"type": "workrequest", "service": "s", "label": 9},
    ],
)
def test_a_frame_over_the_limit_is_answered_with_its_label(command, length):
    field = {"post": "message", "finish": "reply", "workrequest": "body"}[command["type"]]
    data = encode_command(command | {field: b"x" * length})
    limits = Limits(max_body_bytes=10, max_frame_bytes=1199)
    [error] = decode(data, limits)
    assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "1199", 9)
    [error] = decode(GOOD + data, limits)
    assert (error.code, error.label) == (Code.TOO_LARGE, None)


def test_a_label_that_was_thrown_away_with_the_middle_of_a_frame_is_unknown():
    parts = FrameEnds(*[b"x" * 1000] * 100)
    assert (len(parts.head), len(parts.tail), parts.size) == (KEPT_BYTES, KEPT_BYTES, 100_000)
    data = encode_command(POST | {"message": b"x" * 50_000, "dedupe": "d" * 50_000})
    [error] = decode(data, Limits(max_body_bytes=10, max_frame_bytes=1199))
    assert (error.code, error.label) == (Code.TOO_LARGE, None)


def test_a_frame_of_too_many_commands_is_refused_as_a_whole():
    assert len(decode(GOOD * MOST_COMMANDS_PER_FRAME, LIMITS)) == MOST_COMMANDS_PER_FRAME
    [error] = decode(GOOD * (MOST_COMMANDS_PER_FRAME + 1), LIMITS)
    assert (error.code, error.key) == (Code.TOO_LARGE, "10000")


def test_reading_stops_at_the_first_command_too_many(monkeypatch):
    refused = []
    refusal_of_values = bincode._refusal_of_values
    monkeypatch.setattr(bincode, "_refusal_of_values", lambda *values: refused.append(1) or refusal_of_values(*values))
    bad = encode_command(POP | {"queue": ""})
    decode(bad * (3 * MOST_COMMANDS_PER_FRAME), LIMITS)
    assert len(refused) == MOST_COMMANDS_PER_FRAME + 1


@pytest.mark.parametrize(
    "command",
    [
        POST | {"message": b"x" * 11},
        FINISH | {"reply": b"x" * 11},
        {"type": "workrequest", "service": "s", "body": b"x" * 11, "label": 9},
    ],
)
def test_a_body_over_the_limit_is_refused_alone(command):
    limits = Limits(max_body_bytes=10, max_frame_bytes=1000)
    post = encode_command(POST | {"message": b"x" * 10})
    error, fine, unreadable = decode(encode_command(command) + post + b"\xff", limits)
    assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "10", 9)
    assert fine.message == b"x" * 10
    assert unreadable.key == "type"


def test_the_message_says_what_was_expected_and_what_came():
    def message(frame):
        return decode(frame, LIMITS)[0].message

    assert message(encode_command(POP | {"count": 0})) == "`count` must be a whole number from 1 to 10000, not 0."
    assert message(bytes.fromhex("19000000")) == "25 is not the number of a command."
    assert message(bytes.fromhex("0a000000 03000000")) == "`config_type` cannot be read: 3 stands for nothing there."
    assert message(bytes.fromhex("08000000 01")) == "`label` cannot be read: the frame ends inside it."
    assert message(bytes.fromhex("01000000 0100000000000000 ff")) == ("`queue` cannot be read: it is not valid UTF-8.")
