"""JSON that no client should send: each gets its error, and nothing else suffers."""

import base64
import json
import tracemalloc

import pytest

from delivery.protocol.commands import Pop, Post, Unsubscribe
from delivery.protocol.errors import Code, FrameError
from delivery.protocol.json import decode
from delivery.protocol.json import recovery as json_recovery
from delivery.protocol.json.parts import MOST_TOKENS
from delivery.protocol.limits import MOST_COMMANDS_PER_FRAME, Limits
from tests.unit.protocol.samples import LIMITS

DEEP = "[" * 10_000 + "]" * 10_000
DEEP_OBJECT = '{"a":' * 10_000 + "1" + "}" * 10_000

# The whole frame cannot be read, or is not a command: there is no field to blame.
NOT_A_COMMAND = [
    "",
    " ",
    "hello",
    "null",
    "true",
    "5",
    '"post"',
    "NaN",
    "{",
    "}",
    "[",
    "]",
    "[}",
    "{]",
    "[]",
    "[[]]",
    "[null]",
    "[[{}]]",
    '"',
    '{"type":"pop","queue":"q"',
    '{"type":"pop","queue":5',
    '{"type":"pop","queue":"q}',
    '{"type":"pop","queue":"q\\',
    '[{"type":"pop","queue":"q"}',
    '{"type":"pop","queue":"q"} x',
    '{"type":"pop","queue":"q"}{"type":"pop","queue":"q"}',
    '[{"type":"pop","queue":"q"}] []',
    '{"type":"pop","queue":"q",}',
    "{'type':'pop'}",
    '{type:"pop"}',
    '{"\\ud800":1}',
    '\ufeff{"type":"pop","queue":"q"}',
    b'\xef\xbb\xbf{"type":"pop","queue":"q"}',
    b"\xff\xfe{",
    b"\x00\x00\x00\x00",
    DEEP,
    "[" * 100_000 + "]" * 100_000,
    "[" * 100_000,
    '{"a":' * 100_000,
    '"\\"' * 100_000,
    "[1] " * 50_000,
]

CLAIM = {"queue": "q", "sequence": 1, "shard": 1}
CHECK_CONFIG = {"config_type": "JSON", "identity": "i", "services": ["s"]}
READY = {"services": ["s"], "heartbeat_interval": 1, "time": 1, "config_version": "v"}
REPLY = {"work_request_identifier": "w", "body": "", "time": 1, "config_version": "v"}

# A command that breaks one rule: its type, its fields besides the type and the label, the field at fault.
WRONG_FIELDS = [
    ("post", {"message": "m"}, "queue"),
    ("post", {"queue": "q"}, "message"),
    ("post", {"queue": "", "message": "m"}, "queue"),
    ("post", {"queue": "x" * 201, "message": "m"}, "queue"),
    ("post", {"queue": "é", "message": "m"}, "queue"),
    ("post", {"queue": "a\nb", "message": "m"}, "queue"),
    ("post", {"queue": "a\0b", "message": "m"}, "queue"),
    ("post", {"queue": "\x7f", "message": "m"}, "queue"),
    ("post", {"queue": 5, "message": "m"}, "queue"),
    ("post", {"queue": [], "message": "m"}, "queue"),
    ("post", {"queue": ["a", ""], "message": "m"}, "queue"),
    ("post", {"queue": ["a", "é"], "message": "m"}, "queue"),
    ("post", {"queue": ["a", 5], "message": "m"}, "queue"),
    ("post", {"queue": ["a", ["b"]], "message": "m"}, "queue"),
    ("post", {"queue": [str(number) for number in range(65)], "message": "m"}, "queue"),
    ("post", {"queue": {"name": "q"}, "message": "m"}, "queue"),
    ("post", {"queue": "q", "message": 5}, "message"),
    ("post", {"queue": "q", "message": True}, "message"),
    ("post", {"queue": "q", "message": {}}, "message"),
    ("post", {"queue": "q", "message": [256]}, "message"),
    ("post", {"queue": "q", "message": [-1]}, "message"),
    ("post", {"queue": "q", "message": [1.0]}, "message"),
    ("post", {"queue": "q", "message": [True]}, "message"),
    ("post", {"queue": "q", "message": [10**30]}, "message"),
    ("post", {"queue": "q", "message": ["a"]}, "message"),
    ("post", {"queue": "q", "message": [[1]]}, "message"),
    ("post", {"queue": "q", "message": {"base64": "YQ"}}, "message"),
    ("post", {"queue": "q", "message": {"base64": "Y Q=="}}, "message"),
    ("post", {"queue": "q", "message": {"base64": "_-=="}}, "message"),
    ("post", {"queue": "q", "message": {"base64": 5}}, "message"),
    ("post", {"queue": "q", "message": {"base64": None}}, "message"),
    ("post", {"queue": "q", "message": {"Base64": "YQ=="}}, "message"),
    ("post", {"queue": "q", "message": "m", "headers": []}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"": "v"}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"h" * 129: "v"}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"Trace": "v"}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"é": "v"}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"a\n": "v"}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"willow-due": "v"}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"a": 5}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"a": "v" * 4097}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"a": "é" * 2049}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {"a": "\0"}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {f"h{number}": "" for number in range(65)}}, "headers"),
    ("post", {"queue": "q", "message": "m", "headers": {str(number): "v" * 4095 for number in range(5)}}, "headers"),
    ("post", {"queue": "q", "message": "m", "group": ""}, "group"),
    ("post", {"queue": "q", "message": "m", "group": "g" * 201}, "group"),
    ("post", {"queue": "q", "message": "m", "group": "\0"}, "group"),
    ("post", {"queue": "q", "message": "m", "unique": ""}, "unique"),
    ("post", {"queue": "q", "message": "m", "unique": "\0"}, "unique"),
    ("post", {"queue": "q", "message": "m", "priority": -1}, "priority"),
    ("post", {"queue": "q", "message": "m", "priority": 2**32}, "priority"),
    ("post", {"queue": "q", "message": "m", "priority": "high"}, "priority"),
    ("post", {"queue": "q", "message": "m", "priority": "5"}, "priority"),
    ("post", {"queue": "q", "message": "m", "priority": 1.0}, "priority"),
    ("post", {"queue": "q", "message": "m", "priority": True}, "priority"),
    ("post", {"queue": "q", "message": "m", "priority": 10**4000}, "priority"),
    ("post", {"queue": "q", "message": "m", "tags": "eu"}, "tags"),
    ("post", {"queue": "q", "message": "m", "tags": [""]}, "tags"),
    ("post", {"queue": "q", "message": "m", "tags": ["t" * 201]}, "tags"),
    ("post", {"queue": "q", "message": "m", "tags": ["a\0"]}, "tags"),
    ("post", {"queue": "q", "message": "m", "tags": [None]}, "tags"),
    ("post", {"queue": "q", "message": "m", "tags": [5]}, "tags"),
    ("post", {"queue": "q", "message": "m", "tags": ["t"] * 65}, "tags"),
    ("post", {"queue": "q", "message": "m", "notify": "sync"}, "notify"),
    ("post", {"queue": "q", "message": "m", "notify": ["done"]}, "notify"),
    ("post", {"queue": "q", "message": "m", "notify": ["keepalive"]}, "notify"),
    ("post", {"queue": "q", "message": "m", "notify": [2]}, "notify"),
    ("post", {"queue": "q", "message": "m", "key": ""}, "key"),
    ("post", {"queue": "q", "message": "m", "key": "k" * 501}, "key"),
    ("post", {"queue": "q", "message": "m", "key": "a\0"}, "key"),
    ("post", {"queue": "q", "message": "m", "dedupe": "\0"}, "dedupe"),
    ("post", {"queue": "q", "message": "m", "delay": -0.5}, "delay"),
    ("post", {"queue": "q", "message": "m", "delay": "5"}, "delay"),
    ("post", {"queue": "q", "message": "m", "delay": False}, "delay"),
    ("post", {"queue": "q", "message": "m", "ttl": 315_360_001}, "ttl"),
    ("post", {"queue": "q", "message": "m", "ttl": 10**400}, "ttl"),
    ("pop", {"queue": ["q"]}, "queue"),
    ("pop", {"queue": "q\t"}, "queue"),
    ("pop", {"queue": "q", "tags": ["\0"]}, "tags"),
    ("pop", {"queue": "q", "count": 0}, "count"),
    ("pop", {"queue": "q", "count": 10_001}, "count"),
    ("pop", {"queue": "q", "match": "some"}, "match"),
    ("pop", {"queue": "q", "timeout": -1}, "timeout"),
    ("fetch", {"queue": "q", "sync": "finish"}, "sync"),
    ("fetch", {"queue": "q", "sync": 1}, "sync"),
    ("fetch", {"queue": "q", "block_timeout": "1"}, "block_timeout"),
    ("fetch", {"queue": "q", "work_timeout": -1}, "work_timeout"),
    ("fetch", {"queue": "é"}, "queue"),
    ("finish", {"queue": "q", "sequence": 1}, "shard"),
    ("finish", {"queue": "q", "shard": 1}, "sequence"),
    ("finish", {"queue": "q", "sequence": -1, "shard": 1}, "sequence"),
    ("finish", {"queue": "q", "sequence": 2**64, "shard": 1}, "sequence"),
    ("finish", {"queue": "q", "sequence": 1, "shard": 2**64}, "shard"),
    ("finish", {"queue": "q", "sequence": 1, "shard": 1, "index": 2**64}, "index"),
    ("finish", {"queue": "q", "sequence": 1, "shard": 1, "response": "assign"}, "response"),
    ("finish", {"queue": "q", "sequence": 1, "shard": 1, "reply": 5}, "reply"),
    ("finish", {"queue": "\n", "sequence": 1, "shard": 1}, "queue"),
    ("fail", {"queue": "q", "sequence": 1, "shard": 1, "error": "e" * 10_001}, "error"),
    ("fail", {"queue": "q", "sequence": 1, "shard": 1, "error": "\0"}, "error"),
    ("fail", {"queue": "q", "sequence": 1, "shard": 1, "delay": -1}, "delay"),
    ("fail", {"queue": "\n", "sequence": 1, "shard": 1}, "queue"),
    ("keepalive", {"queue": "q"}, "sequence"),
    ("keepalive", {"queue": "q", "sequence": 1}, "shard"),
    ("keepalive", {"sequence": 1, "shard": 1}, "queue"),
    ("keepalive", {"index": 1}, "queue"),
    ("keepalive", {"queue": "é", "sequence": 1, "shard": 1}, "queue"),
    ("keepalive", {"attempt": 1}, "queue"),
    ("keepalive", {"queue": "q", "sequence": 1, "shard": 1, "attempt": 2**32}, "attempt"),
    ("finish", {"queue": "q", "sequence": 1, "shard": 1, "attempt": -1}, "attempt"),
    ("finish", {"queue": "q", "sequence": 1, "shard": 1, "reply": {"base64": "Y"}}, "reply"),
    ("fail", {"queue": "q", "sequence": 1, "shard": 1, "attempt": "1"}, "attempt"),
    ("release", {"queue": "q"}, "sequence"),
    ("release", {"attempt": 1}, "queue"),
    ("release", {"queue": "é", "sequence": 1, "shard": 1}, "queue"),
    ("release", {"queue": "q", "sequence": 1, "shard": 2**64}, "shard"),
    ("release", {"queue": "q", "sequence": 1, "shard": 1, "messages": [CLAIM]}, "messages"),
    ("release", {"messages": CLAIM}, "messages"),
    ("release", {"messages": [{"queue": "q"}]}, "messages"),
    ("release", {"messages": [CLAIM | {"queue": "\n"}]}, "messages"),
    ("release", {"messages": [CLAIM | {"index": 2**64}]}, "messages"),
    ("release", {"messages": [CLAIM] * 10_001}, "messages"),
    ("release", {"response": "finish"}, "response"),
    ("cancel", {"queue": "q", "shard": 1}, "index"),
    ("cancel", {"queue": "q", "shard": 1, "index": 2**64}, "index"),
    ("cancel", {"queue": "é", "shard": 1, "index": 1}, "queue"),
    ("unsubscribe", {"forget": "true"}, "forget"),
    ("fail", {"queue": "q", "sequence": 1, "shard": 1, "final": 1}, "final"),
    ("workerror", {"work_request_identifier": "w", "time": 1}, "error"),
    ("workerror", {"work_request_identifier": "w", "time": 1, "error": "\0"}, "error"),
    ("workerror", {"work_request_identifier": "w", "time": 1, "error": "e" * 10_001}, "error"),
    ("workerror", {"work_request_identifier": "w", "time": 1, "error": "e", "final": 1}, "final"),
    ("create", {"queue": "q", "group_in_flight": 0}, "group_in_flight"),
    ("create", {"queue": "q", "max_in_flight": 2**31}, "max_in_flight"),
    ("create", {"queue": "q", "rate": 0}, "rate"),
    ("create", {"queue": "q", "rate": 1e-320}, "rate"),
    ("create", {"queue": "q", "burst": 0.5}, "burst"),
    ("create", {"queue": "q", "keep_replies": -1}, "keep_replies"),
    ("create", {"queue": "q", "kind": "stream", "group_in_flight": 1}, "group_in_flight"),
    ("create", {"queue": "q", "kind": "stream", "max_in_flight": 1}, "max_in_flight"),
    ("create", {"queue": "q", "kind": "stream", "rate": 1}, "rate"),
    ("create", {"queue": "q", "kind": "stream", "burst": 1}, "burst"),
    ("create", {"queue": "q", "kind": "topic"}, "kind"),
    ("create", {"queue": "q", "retry_limit": -1}, "retry_limit"),
    ("create", {"queue": "q", "retry_limit": 2**31}, "retry_limit"),
    ("create", {"queue": "q", "heartbeat_timeout": 0}, "heartbeat_timeout"),
    ("create", {"queue": "q", "retry_backoff": 0.5}, "retry_backoff"),
    ("create", {"queue": "q", "max_length": 0}, "max_length"),
    ("create", {"queue": "q", "max_length": 2**63}, "max_length"),
    ("create", {"queue": "q", "overflow": "drop"}, "overflow"),
    ("create", {"queue": "q", "updatable": 1}, "updatable"),
    ("create", {"queue": "q", "updatable": "true"}, "updatable"),
    ("subscribe", {"queue": "q", "in_flight": 0}, "in_flight"),
    ("subscribe", {"queue": "q", "in_flight": 65_536}, "in_flight"),
    ("subscribe", {"queue": "q", "from": "newest"}, "from"),
    ("subscribe", {"queue": "q", "from": -1}, "from"),
    ("subscribe", {"queue": "q", "from": 2**64}, "from"),
    ("subscribe", {"queue": "q", "from": 1.5}, "from"),
    ("register", {"name": "n"}, "persistent"),
    ("register", {"name": "n", "persistent": 0}, "persistent"),
    ("register", {"name": "ä", "persistent": True}, "name"),
    ("checkconfig", CHECK_CONFIG | {"config_type": "json"}, "config_type"),
    ("checkconfig", CHECK_CONFIG | {"services": []}, "services"),
    ("checkconfig", CHECK_CONFIG | {"services": ["é"]}, "services"),
    ("checkconfig", CHECK_CONFIG | {"identity": "\0"}, "identity"),
    ("checkconfig", CHECK_CONFIG | {"config_version": "\0"}, "config_version"),
    ("ready", READY | {"heartbeat_interval": 0}, "heartbeat_interval"),
    ("ready", READY | {"time": -1}, "time"),
    ("ready", READY | {"services": ["\0"]}, "services"),
    ("ready", READY | {"config_version": "\0"}, "config_version"),
    ("ready", READY | {"slots": 0}, "slots"),
    ("ping", {"time": 1e300, "config_version": "v"}, "time"),
    ("ping", {"time": 1, "config_version": "\0"}, "config_version"),
    ("workrequest", {"service": "é", "body": ""}, "service"),
    ("workrequest", {"service": "s", "body": [None]}, "body"),
    ("workreply", REPLY | {"work_request_identifier": "\0"}, "work_request_identifier"),
    ("workreply", REPLY | {"body": 1}, "body"),
    ("workreply", REPLY | {"config_version": "\0"}, "config_version"),
    ("needbroker", {"identity": "i", "services": ["\n"]}, "services"),
    ("needbroker", {"identity": "\0"}, "identity"),
]

# One member that is not JSON, or that JSON cannot hold, in a command that is fine otherwise.
UNREADABLE_MEMBERS = [
    ('"queue": NaN', "queue"),
    ('"timeout": Infinity', "timeout"),
    ('"timeout": -Infinity', "timeout"),
    ('"timeout": 1e400', "timeout"),
    ('"timeout": 01', "timeout"),
    ('"timeout": .5', "timeout"),
    ('"timeout": +5', "timeout"),
    ('"timeout": 0x10', "timeout"),
    ("\"queue\": 'q'", "queue"),
    ('"queue": "\\ud800"', "queue"),
    ('"queue": "\\udc00"', "queue"),
    ('"queue": "\\ud800\\ud800"', "queue"),
    ('"queue": "\\x41"', "queue"),
    ('"queue": "\\u12"', "queue"),
    ('"queue": "a\nb"', "queue"),
    ('"queue": tru', "queue"),
    ('"queue":', "queue"),
    ('"tags": ["a",]', "tags"),
    ('"tags": ["\\udfff"]', "tags"),
    (f'"tags": {DEEP}', "tags"),
    (f'"unknown": {DEEP}', "unknown"),
    (f'"unknown": {DEEP_OBJECT}', "unknown"),
    (b'"queue": "\xff"', "queue"),
    (b'"queue": "\xed\xa0\x80"', "queue"),
    (b'"queue": "\xc3"', "queue"),
    ('"queue": "\ud800"', "queue"),
]


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def the_error(frame, limits=LIMITS):
    [error] = decode(frame, limits)
    assert isinstance(error, FrameError)
    return error


@pytest.mark.parametrize("frame", NOT_A_COMMAND, ids=range(len(NOT_A_COMMAND)))
def test_what_is_no_command_gets_one_error(frame):
    error = the_error(frame)
    assert (error.code, error.key) == (Code.BAD_REQUEST, "frame")


@pytest.mark.parametrize(("name", "fields", "key"), WRONG_FIELDS)
def test_a_wrong_field_is_named(name, fields, key):
    error = the_error(json.dumps({"type": name, "label": 9, **fields}))
    assert (error.code, error.key, error.label) == (Code.BAD_REQUEST, key, 9)
    assert f"`{key}`" in error.message
    assert error.message.endswith(".")
    assert len(error.message) < 300


@pytest.mark.parametrize(("member", "key"), UNREADABLE_MEMBERS, ids=range(len(UNREADABLE_MEMBERS)))
def test_a_member_that_is_not_json_is_named(member, key):
    frame = b'{"type":"pop", "label":9, ' + as_bytes(member) + b', "count":1}'
    error = the_error(frame)
    assert (error.code, error.key, error.label) == (Code.BAD_REQUEST, key, 9)


@pytest.mark.parametrize("text", ["\\ud800", "a\\udc00", "\\ud83d\\ude00\\ud83d", "\\\\\\ud800", "\\uDBFF\\uD800"])
@pytest.mark.parametrize("value", ['"%s"', '["%s"]'])
def test_half_a_surrogate_pair_is_called_so(text, value):
    error = the_error('{"type":"pop","queue":"q","tags":' + value % text + "}")
    assert error.key == "tags"
    assert "surrogate" in error.message
    assert "truncated" not in error.message


def test_an_escaped_backslash_is_no_surrogate():
    error = the_error('{"type":"pop","queue":"q","count":01,"tags":["\\\\ud800"]}')
    assert error.key == "count"
    assert "surrogate" not in error.message


def test_tags_that_are_a_text_are_refused_by_what_they_should_be():
    error = the_error('{"type":"post","queue":"q","message":"m","tags":"eu"}')
    assert error.message.startswith("`tags` must be a list of at most 64 tags")
    assert error.message.endswith('not "eu".')


def test_a_text_with_half_a_surrogate_pair_is_refused():
    """No server should hand one over, but a Python text can hold it."""
    assert the_error('{"type":"pop","queue":"q","tags":["\ud800"]}').key == "tags"


@pytest.mark.parametrize(
    ("frame", "key"),
    [
        ("{}", "type"),
        ('{"queue":"q"}', "type"),
        ('{"type":null}', "type"),
        ('{"type":5}', "type"),
        ('{"type":["pop"]}', "type"),
        ('{"type":""}', "type"),
        ('{"type":"Pop","queue":"q"}', "type"),
        ('{"type":"hello"}', "type"),
        ('{"type":"pop" "queue":"q"}', "type"),
        ('{"type":"readyok","time":1,"config_version":"v"}', "type"),
        ('{"type":"\\ud800"}', "type"),
    ],
)
def test_an_unknown_type_is_named(frame, key):
    error = the_error(frame)
    assert (error.code, error.key, error.label) == (Code.BAD_REQUEST, key, None)


@pytest.mark.parametrize(
    "label", ["-1", "18446744073709551616", "1" * 4300, "1" * 5000, "1.0", '"1"', "true", "[1]", "{}"]
)
def test_a_label_that_cannot_be_repeated_is_null_in_its_error(label):
    error = the_error('{"type":"pop","queue":"q","label":' + label + "}")
    assert (error.code, error.key, error.label) == (Code.BAD_REQUEST, "label", None)


def test_the_message_says_what_was_expected_and_what_came():
    error = the_error('{"type":"post","queue":"q","message":"m","priority":"high"}')
    assert error.message == '`priority` must be a whole number from 0 to 4294967295, not "high".'
    assert the_error('{"type":"fetch","queue":"q","sync":"x"}').message == (
        '`sync` must be one of ready, write, sync, not "x".'
    )
    assert the_error('{"type":"launch"}').message == '`type` must be the name of a command, not "launch".'
    assert the_error('{"type":"pop"}').message == "`queue` is missing."


def test_a_long_value_is_quoted_in_part_only():
    error = the_error(json.dumps({"type": "pop", "queue": "q" * 100_000}))
    assert len(error.message) < 200
    error = the_error('{"type":"pop","queue":"q","' + "k" * 100_000 + '":\\}')
    assert len(error.key) < 100


GOOD = [b'{"type":"unsubscribe","label":1}', b'{"type":"pop","queue":"q"}']
BAD_BETWEEN_GOOD = [
    *(json.dumps({"type": name, **fields}) for name, fields, _ in WRONG_FIELDS),
    *(b'{"type":"pop",' + as_bytes(member) + b"}" for member, _ in UNREADABLE_MEMBERS),
    *("5", "null", "[]", '"x,y]"', '"\\"]"', "", "{}", '{"a":"]}"}', "oops", '{"type":"pop" 5}'),
    *(DEEP, DEEP_OBJECT),
]


@pytest.mark.parametrize("bad", BAD_BETWEEN_GOOD, ids=range(len(BAD_BETWEEN_GOOD)))
def test_good_commands_beside_a_bad_one_are_kept(bad):
    frame = b"[%b , %b\n,%b]" % (GOOD[0], as_bytes(bad), GOOD[1])
    first, error, last = decode(frame, LIMITS)
    assert (first, last) == (Unsubscribe(label=1), Pop(queue="q"))
    assert isinstance(error, FrameError)
    assert error.code is Code.BAD_REQUEST


def test_a_broken_frame_that_takes_too_long_to_take_apart_gets_one_error():
    commas = b",".join([GOOD[0]] * (MOST_TOKENS // 5))
    error = the_error(b"[oops," + commas + b"]")
    assert (error.code, error.key) == (Code.BAD_REQUEST, "frame")


@pytest.mark.parametrize("element", [GOOD[0], b"0", b"oops"])
def test_a_frame_of_too_many_commands_is_refused_as_a_whole(element):
    commands = decode(b"[" + b",".join([element] * MOST_COMMANDS_PER_FRAME) + b"]", LIMITS)
    assert len(commands) == MOST_COMMANDS_PER_FRAME
    error = the_error(b"[" + b",".join([element] * (MOST_COMMANDS_PER_FRAME + 1)) + b"]")
    assert (error.code, error.key) == (Code.TOO_LARGE, "10000")


def test_too_many_commands_are_not_looked_at_one_by_one(monkeypatch):
    monkeypatch.setattr(json_recovery, "_decode_alone", None)
    assert the_error(b"[" + b"0," * MOST_COMMANDS_PER_FRAME + b"0]").code is Code.TOO_LARGE


def test_a_frame_of_commas_is_refused_without_taking_it_apart():
    error = the_error(b"[" + b"0," * 900_000 + b"0]")
    assert (error.code, error.key) == (Code.BAD_REQUEST, "frame")


LARGE = Limits(max_body_bytes=16 * 1024 * 1024, max_frame_bytes=32 * 1024 * 1024)
LARGE_BYTES = 8_000_000


def filled(before: str, item: str, after: str) -> str:
    return before + ",".join([item] * (LARGE_BYTES // (len(item) + 1))) + after


@pytest.mark.parametrize(
    ("frame", "key"),
    [
        (filled('{"type":"post","queue":"q","label":9,"message":[', '{"":0}', "]}"), "message"),
        (filled('{"type":"post","queue":"q","label":9,"message":[1,', "[]", "]}"), "message"),
        (filled('{"type":"post","queue":"q","label":9,"message":[', '"a"', "]}"), "message"),
        (filled('{"type":"post","queue":"q","message":"m","label":9,"tags":[', '"a"', "]}"), "tags"),
        (filled('{"type":"post","message":"m","label":9,"queue":[', '"a"', "]}"), "queue"),
        (filled('{"type":"post","queue":"q","message":"m","label":9,"headers":{', '"a":""', "}}"), "headers"),
        (filled('{"type":"release","label":9,"messages":[', '{"queue":"q","shard":1,"sequence":1}', "]}"), "messages"),
        (filled('{"type":"post","queue":"q","label":9,"message":[', '{"":0}', '],"ttl":oops}'), "frame"),
        (filled('{"type":"pop","queue":5,"label":9,"x":{', '"a":[{}]', "}}"), "queue"),
    ],
)
def test_a_large_list_that_no_field_can_hold_is_refused_without_making_objects_of_it(frame, key):
    tracemalloc.start()
    error = the_error(frame, LARGE)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (error.code, error.key) == (Code.BAD_REQUEST, key)
    assert error.label == (None if key == "frame" else 9)
    assert peak_bytes < 4 * LARGE_BYTES  # copies of the text; objects would be ten times as much and more


@pytest.mark.parametrize("element", ["{}", "0", '"a"', '{"type":"pop","queue":"q"}', '{"a":[0,0]}'])
def test_a_large_list_of_commands_is_refused_without_making_objects_of_it(element):
    frame = filled("[", element, "]")
    tracemalloc.start()
    error = the_error(frame, LARGE)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.code in (Code.BAD_REQUEST, Code.TOO_LARGE)
    assert peak_bytes < 10 * LARGE_BYTES


NARROW = Limits(max_body_bytes=10, max_frame_bytes=100)


@pytest.mark.parametrize(
    ("frame", "label"),
    [
        ('{"type":"post","label":9,"message":"%s"}', 9),
        ('{"type":"post","message":"%s", "label" : 18446744073709551615 }', 2**64 - 1),
        ('{"type":"post","message":"%s","label":18446744073709551616}', None),
        ('{"type":"post","message":"\\"label\\":7,%s"}', None),
        ('{"type":"post","message":"%s\\"label\\":7}"}', None),
        ('{"type":"post","label":8,"message":"%s","label":9}', 9),
        ('{"type":"post","label":9,"message":[%s1]}', 9),
        ('{"type":"post","label":"9","message":"%s"}', None),
        ('[{"type":"post","label":9,"message":"%s"}]', None),
    ],
)
@pytest.mark.parametrize("length", [100, 100_000])
def test_a_frame_over_the_limit_is_answered_with_its_label(frame, label, length):
    error = the_error(frame % ("1," * length), NARROW)
    assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "100", label)


def test_a_body_that_nobody_could_read_as_json_is_refused():
    """The limit of bodies leaves no room for the rest of the frame."""
    limits = Limits(max_body_bytes=2000, max_frame_bytes=2000)
    fits, no_text, text = (
        {"type": "post", "queue": "q", "message": body, "label": 9} for body in ("x" * 1200, [255] * 1000, "\0" * 1000)
    )
    assert decode(json.dumps(fits), limits)[0].message == b"x" * 1200
    for command in (no_text, text):
        body = bytes(command["message"]) if command is no_text else command["message"].encode()
        given = base64.b64encode(body).decode()
        [error] = decode(json.dumps(command | {"message": {"base64": given}}), limits)
        assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "2000", 9)


def test_the_tags_count_for_the_frame_in_which_a_body_is_read():
    limits = Limits(max_body_bytes=1000, max_frame_bytes=2500)
    command = {"type": "post", "queue": "q", "message": "x" * 1000, "label": 9}
    assert isinstance(decode(json.dumps(command), limits)[0], Post)
    [error] = decode(json.dumps(command | {"tags": ["t" * 200] * 4}), limits)
    assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "2500", 9)


def test_a_frame_over_the_limit_is_not_read():
    limits = Limits(max_body_bytes=10, max_frame_bytes=100)
    for frame in ("x" * 101, "é" * 51, b"[" * 101):
        error = the_error(frame, limits)
        assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "100", None)
    assert the_error("é" * 50, limits).code is Code.BAD_REQUEST


@pytest.mark.parametrize(
    "command",
    [
        {"type": "post", "queue": "q", "message": "é" * 5 + "x"},
        {"type": "post", "queue": "q", "message": [1] * 11},
        {"type": "finish", "queue": "q", "sequence": 1, "shard": 1, "reply": "x" * 11},
        {"type": "workrequest", "service": "s", "body": "x" * 11},
    ],
)
def test_a_body_over_the_limit_is_refused_alone(command):
    limits = Limits(max_body_bytes=10, max_frame_bytes=1000)
    error, post = decode(
        json.dumps([command | {"label": 9}, {"type": "post", "queue": "q", "message": "x" * 10}]), limits
    )
    assert (error.code, error.key, error.label) == (Code.TOO_LARGE, "10", 9)
    assert "10" in error.message
    assert post.message == b"x" * 10


def test_a_body_over_the_limit_is_refused_beside_a_bad_command():
    limits = Limits(max_body_bytes=10, max_frame_bytes=1000)
    too_large, bad = decode('[{"type":"post","queue":"q","message":"12345678901"},{}]', limits)
    assert (too_large.code, bad.code) == (Code.TOO_LARGE, Code.BAD_REQUEST)
