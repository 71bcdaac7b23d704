"""JSON and bincode say the same: any command and any frame, whichever way it travels."""

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, fields, replace

from delivery.protocol import bincode
from delivery.protocol import json as json_codec
from delivery.protocol.errors import Code
from delivery.protocol.frames import QueueIdentity, SubscriptionRecord
from delivery.protocol.variants import FRAMES
from tests.unit.protocol.documented_layouts import LAYOUTS, decode_frame, encode_command
from tests.unit.protocol.samples import LIMITS

BINCODE, JSON = bincode.Encoder(LIMITS, extras=True), json_codec.Encoder(LIMITS)

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=200)
TEXTS = st.text(st.characters(codec="utf-8", min_codepoint=1), min_size=1, max_size=200)
TAGS = st.lists(TEXTS, max_size=64)
BODIES = st.binary() | st.text().map(str.encode)
SECONDS = st.floats(0, 315_360_000)
POSITIVE_SECONDS = st.floats(0, 315_360_000, exclude_min=True)
UNIX_SECONDS = st.floats(0, 253_402_300_799)
AMOUNTS = st.integers(1, 2**63 - 1)
STAGES = st.sampled_from(["ready", "write", "sync", "assign", "finish", "retry", "drop"])
PERSISTENCE = st.sampled_from(["ready", "write", "sync"])

QUEUE = {"queue": NAMES}
TAGGED = {"tags": TAGS}
MATCHED = TAGGED | {"match": st.sampled_from(["all", "exact", "strict", "combined", "any"])}
LABELLED = {"label": U64}
MESSAGE_ID = {"queue": NAMES, "sequence": U64, "shard": U64}
ENDED = {"index": U64, "attempt": U32, "response": PERSISTENCE} | LABELLED
CLAIMS = st.lists(st.fixed_dictionaries(MESSAGE_ID, optional={"index": U64, "attempt": U32}), max_size=5)
GROUPING = st.text(st.characters(codec="utf-8", min_codepoint=1), min_size=1, max_size=200)
HEADER_NAMES = st.from_regex(r"(?!willow-)[a-z0-9._-]{1,20}", fullmatch=True)
HEADERS = st.dictionaries(HEADER_NAMES, st.text(st.characters(codec="utf-8", min_codepoint=1)), min_size=1, max_size=5)
LIMIT = st.integers(1, 2**31 - 1)
VERSIONED = {"time": UNIX_SECONDS, "config_version": TEXTS}

# The fields that a command must have, and those that it may have.
COMMAND_FIELDS = {
    "post": (
        {"queue": st.lists(NAMES, min_size=1, max_size=5, unique=True), "message": BODIES},
        TAGGED
        | LABELLED
        | {"priority": U32, "notify": st.lists(STAGES), "key": TEXTS}
        | {"delay": SECONDS, "ttl": SECONDS, "dedupe": TEXTS}
        | {"headers": HEADERS, "group": GROUPING, "unique": GROUPING},
    ),
    "pop": (QUEUE, MATCHED | LABELLED | {"timeout": SECONDS, "count": st.integers(1, 10_000)}),
    "fetch": (
        QUEUE,
        MATCHED
        | LABELLED
        | {"block_timeout": SECONDS, "work_timeout": SECONDS, "sync": PERSISTENCE}
        | {"count": st.integers(1, 10_000)},
    ),
    "finish": (MESSAGE_ID, ENDED | {"reply": BODIES}),
    "fail": (MESSAGE_ID, ENDED | {"error": TEXTS, "delay": SECONDS, "final": st.just(True)}),
    "keepalive": (MESSAGE_ID, LABELLED | {"index": U64, "attempt": U32}),
    "release": ({}, LABELLED | {"messages": CLAIMS, "response": PERSISTENCE}),
    "cancel": ({"queue": NAMES, "shard": U64, "index": U64}, LABELLED),
    "create": (  # of a work queue: streams have no limits
        QUEUE,
        TAGGED
        | LABELLED
        | {"kind": st.just("work"), "retry_limit": st.integers(0, 2**31 - 1)}
        | {"heartbeat_timeout": POSITIVE_SECONDS, "retry_delay": SECONDS, "retry_backoff": st.floats(1, 100)}
        | {"max_length": AMOUNTS, "overflow": st.sampled_from(["reject", "drop_oldest"])}
        | {"updatable": st.booleans(), "retention_seconds": SECONDS, "retention_count": AMOUNTS}
        | {"retention_acked": st.booleans(), "keep_bodies": st.booleans(), "retry_delay_max": SECONDS}
        | {"group_in_flight": LIMIT, "max_in_flight": LIMIT, "keep_replies": SECONDS}
        | {"rate": st.floats(0.001, 1_000_000), "burst": st.floats(1, 1_000_000)},
    ),
    "subscribe": (
        QUEUE,
        MATCHED
        | LABELLED
        | {"in_flight": st.integers(1, 65_535), "work_timeout": SECONDS, "sync": PERSISTENCE}
        | {"from": st.sampled_from(["new", "oldest"]) | U64},
    ),
    "unsubscribe": ({}, LABELLED),
    "register": ({"name": NAMES, "persistent": st.booleans()}, LABELLED),
    "checkconfig": (
        {"config_type": st.sampled_from(["JSON", "XML", "ZFL"]), "identity": TEXTS}
        | {"services": st.lists(NAMES, min_size=1, max_size=5)},
        {"config_version": TEXTS},
    ),
    "ready": (
        VERSIONED | {"services": st.lists(NAMES, min_size=1, max_size=5), "heartbeat_interval": POSITIVE_SECONDS},
        {"slots": st.integers(1, 65_535)},
    ),
    "ping": (VERSIONED, {}),
    "workrequest": ({"service": NAMES, "body": BODIES}, LABELLED | {"timeout": SECONDS}),
    "workreply": (VERSIONED | {"work_request_identifier": TEXTS, "body": BODIES}, {}),
    "workerror": (VERSIONED | {"work_request_identifier": TEXTS, "error": TEXTS}, {"final": st.booleans()}),
    "needbroker": ({"identity": TEXTS}, {"services": st.lists(NAMES, max_size=5)}),
    "pong": (VERSIONED, {}),
}

# What a bincode client writes where JSON may leave the field out.
BINCODE_DEFAULTS = {
    "tags": [],
    "notify": [],
    "messages": [],
    "services": [],
    "priority": 0,
    "label": 0,
    "block_timeout": 0.0,
    "sync": "write",
}

COMMANDS = st.sampled_from(sorted(COMMAND_FIELDS)).flatmap(
    lambda name: st.fixed_dictionaries(
        {"type": st.just(name), **COMMAND_FIELDS[name][0]}, optional=COMMAND_FIELDS[name][1]
    )
)


def as_json_body(value):
    """Bodies as JSON carries them; every other value as it is."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return list(value)


def json_text(command: dict) -> str:
    return json.dumps({key: as_json_body(value) for key, value in command.items()})


def documented_fields(command: dict) -> dict:
    return dict(LAYOUTS.variants["Command"])[command["type"]]


def bincode_form(command: dict) -> dict:
    layout = documented_fields(command)
    plain = {
        key: value for key, value in BINCODE_DEFAULTS.items() if key in layout and not layout[key].startswith("Option")
    }
    return plain | command


@given(command=COMMANDS)
def test_a_command_means_the_same_in_both_encodings(command):
    [from_json] = json_codec.decode(json_text(command), LIMITS)
    [from_bincode] = bincode.decode(encode_command(bincode_form(command)), LIMITS)
    if "label" not in command and documented_fields(command).get("label") == "u64":
        assert from_json.label is None
        from_json = replace(from_json, label=0)
    assert from_bincode == from_json


@given(command=COMMANDS)
def test_every_field_of_a_command_arrives(command):
    [decoded] = json_codec.decode(json_text(command), LIMITS)
    attributes = {field.encode_name: getattr(decoded, field.name) for field in fields(type(decoded))}
    for key, value in command.items():
        if key == "type":
            assert type(decoded).__struct_config__.tag == value
        elif key == "messages":
            assert [
                {name: part for name, part in asdict(one).items() if part is not None} for one in attributes[key]
            ] == value
        elif isinstance(value, list):
            assert set(attributes[key]) == set(value)
        else:
            assert attributes[key] == value


@given(commands=st.lists(COMMANDS, min_size=2, max_size=5))
def test_a_frame_of_commands_is_its_commands_in_order(commands):
    one_by_one = [json_codec.decode(json_text(command), LIMITS)[0] for command in commands]
    assert json_codec.decode(f"[{','.join(map(json_text, commands))}]", LIMITS) == one_by_one
    encoded = [encode_command(bincode_form(command)) for command in commands]
    one_by_one = [bincode.decode(each, LIMITS)[0] for each in encoded]
    assert bincode.decode(b"".join(encoded), LIMITS) == one_by_one


ANY_TEXT = st.text()
TAG_TUPLES = st.lists(ANY_TEXT, max_size=4).map(tuple)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
FRAME_VALUES = {
    "String": ANY_TEXT,
    "Vec<u8>": BODIES,
    "u32": U32,
    "u64": U64,
    "f64": NUMBERS,
    "bool": st.booleans(),
    "Vec<String>": TAG_TUPLES,
    "Stage": STAGES | st.just("keepalive"),
    "Code": st.sampled_from(Code),
    "Kind": st.sampled_from(["work", "stream"]),
    "Overflow": st.sampled_from(["reject", "drop_oldest"]),
    "ConfigType": st.sampled_from(["JSON", "XML", "ZFL"]),
    "Vec<QueueIdentity>": st.lists(st.builds(QueueIdentity, ANY_TEXT, TAG_TUPLES, U64)).map(tuple),
    "Vec<SubscriptionRecord>": st.lists(
        st.builds(SubscriptionRecord, ANY_TEXT, TAG_TUPLES, U64, st.lists(U64).map(tuple))
    ).map(tuple),
}


EXTRA_VALUES = {
    "message": {"headers": HEADERS, "group": ANY_TEXT, "left": U32, "work_timeout": NUMBERS},
    "notice": {"duplicate": st.just(True)},
    "queue": {"group_in_flight": U32, "max_in_flight": U32, "rate": NUMBERS, "burst": NUMBERS, "keep_replies": NUMBERS},
}


def field_values(name: str, rust_type: str):
    if rust_type.startswith("Option<"):
        return st.none() | FRAME_VALUES[rust_type.removeprefix("Option<").removesuffix(">")]
    return st.none() | U64 if name == "label" else FRAME_VALUES[rust_type]


def frames_of(variant: int):
    frame, layout = LAYOUTS.variants["Frame"][variant]
    plain = {name: field_values(name, each) for name, each in layout.items()}
    fields_given = st.fixed_dictionaries(plain, optional=EXTRA_VALUES.get(frame))
    return fields_given.map(lambda values: FRAMES[variant](**values))


@given(frame=st.integers(0, len(FRAMES) - 1).flatmap(frames_of))
def test_a_frame_says_the_same_in_both_encodings(frame):
    from_bincode = decode_frame(BINCODE.encode(frame))
    from_json = json.loads(JSON.encode(frame))
    layout = dict(LAYOUTS.variants["Frame"])[from_bincode["type"]]
    for key, rust_type in layout.items():
        if key == "label" and rust_type == "u64":
            from_json[key] = from_json[key] or 0
        if "Vec<u8>" in rust_type:
            from_bincode[key] = as_json_body(from_bincode[key])
    assert from_json.get("type") == from_bincode["type"]
    assert {key: from_json.get(key) for key in from_bincode} == from_bincode
    assert set(from_json) <= set(from_bincode)


@given(frames=st.lists(st.integers(0, len(FRAMES) - 1).flatmap(frames_of), max_size=4))
def test_a_batch_is_an_array_of_its_frames(frames):
    one_by_one = [json.loads(JSON.encode(frame)) for frame in frames]
    assert [frame for text in JSON.encode_batch(frames) for frame in json.loads(text)] == one_by_one
