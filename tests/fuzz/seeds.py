"""Valid frames, which the fuzzer damages."""

import json
import random
from collections.abc import Callable

from delivery.gateway.large_frames import LARGE_BYTES
from delivery.protocol.service_commands import CheckConfig, ClientPong, NeedBroker, Ping, Ready, WorkError, WorkReply
from tests.support import bincode
from tests.unit.protocol.test_bincode_vectors import COMMAND_VECTORS

# Without those of workers, after which a wrong word ends the connection, as the protocol wants it.
OF_WORKERS = (CheckConfig, Ready, Ping, ClientPong, WorkReply, WorkError, NeedBroker)
BINCODE = [bytes.fromhex(encoded) for encoded, _ in COMMAND_VECTORS.values()]
BINCODE_OF_CLIENTS = [
    bytes.fromhex(encoded) for encoded, command in COMMAND_VECTORS.values() if not isinstance(command, OF_WORKERS)
]
MESSAGE = {"queue": "fuzz-a", "shard": 1, "sequence": 1, "index": 1}
REQUEST = {"work_request_identifier": "1.1.1", "time": 1793610607.5, "config_version": "1-a"}
PLAIN_JSON = [
    {"type": "post", "queue": "fuzz-a", "message": "m", "notify": ["ready", "write", "sync", "finish"], "label": 1},
    {"type": "post", "queue": ["fuzz-a", "fuzz-b"], "tags": ["t"], "message": [0, 255], "priority": 3, "label": 2},
    {"type": "post", "queue": "fuzz-a", "message": {"base64": "AAE="}, "delay": 0.01, "ttl": 5, "label": 3},
    {"type": "post", "queue": "fuzz-a", "message": "m", "key": "k", "dedupe": "d", "label": 4},
    {"type": "post", "queue": "fuzz-a", "message": "m", "headers": {"a": "b", "c-d": ""}, "unique": "u", "label": 18},
    {"type": "post", "queue": "fuzz-g", "message": "m", "group": "g", "priority": 1, "label": 19},
    {"type": "fetch", "queue": "fuzz-a", "count": 3, "work_timeout": 1, "label": 5},
    {"type": "fetch", "queue": "fuzz-a", "tags": ["t", "u"], "match": "any", "block_timeout": 0.05, "label": 6},
    {"type": "fetch", "queue": "fuzz-g", "count": 2, "sync": "sync", "label": 20},
    {"type": "pop", "queue": "fuzz-b", "match": "all", "timeout": 0.01, "label": 7},
    {"type": "finish", **MESSAGE, "response": "write", "label": 8},
    {"type": "finish", **MESSAGE, "attempt": 1, "reply": "r", "label": 21},
    {"type": "fail", "queue": "fuzz-a", "shard": 1, "sequence": 2, "error": "why", "delay": 0.1, "label": 9},
    {"type": "fail", **MESSAGE, "attempt": 2, "final": True, "label": 22},
    {"type": "keepalive", "label": 10},
    {"type": "keepalive", **MESSAGE, "attempt": 1, "label": 23},
    {"type": "release", "label": 11},
    {"type": "release", "messages": [MESSAGE, {**MESSAGE, "sequence": 2, "attempt": 1}], "label": 24},
    {"type": "release", "messages": [MESSAGE] * 20, "label": 25},
    {"type": "cancel", "queue": "fuzz-a", "shard": 1, "index": 3, "label": 12},
    {"type": "create", "queue": "fuzz-s", "kind": "stream", "retention_count": 10, "label": 13},
    {"type": "create", "queue": "fuzz-c", "tags": ["t"], "max_length": 5, "overflow": "drop_oldest", "label": 14},
    {"type": "create", "queue": "fuzz-g", "group_in_flight": 1, "max_in_flight": 5, "keep_replies": 5, "label": 26},
    {"type": "create", "queue": "fuzz-r", "rate": 100, "burst": 10, "label": 27},
    {"type": "subscribe", "queue": "fuzz-a", "in_flight": 2, "label": 15},
    {"type": "subscribe", "queue": "fuzz-s", "label": 28},
    {"type": "unsubscribe", "label": 15},
    {"type": "register", "name": "fuzz", "persistent": False, "label": 16},
    {"type": "workrequest", "service": "fuzz", "body": "b", "timeout": 0.1, "label": 17},
]  # fmt: skip
WORKERS_JSON = [
    {"type": "checkconfig", "config_type": "JSON", "identity": "fuzz", "services": ["fuzz"]},
    {"type": "ready", "services": ["fuzz"], "heartbeat_interval": 5, "time": 1793610600.25, "slots": 3},
    {"type": "ping", "time": 1793610605.25, "config_version": "1-a"},
    {"type": "pong", "time": 1793610605.25, "config_version": ""},
    {"type": "workreply", **REQUEST, "body": "reply"},
    {"type": "workerror", **REQUEST, "error": "why", "final": True},
    {"type": "needbroker", "identity": "fuzz", "services": ["fuzz"]},
]


def _in_frames(commands: list[dict[str, object]]) -> list[bytes]:
    """Each alone, and some together."""
    several = [commands[begin : begin + 3] for begin in range(0, len(commands), 3)]
    return [json.dumps(frame).encode() for frame in [*commands, *several]]


JSON_OF_CLIENTS = _in_frames(PLAIN_JSON)
JSON = JSON_OF_CLIENTS + _in_frames(WORKERS_JSON)

# What large frames are posted to: it keeps a few of them, however many come.
LARGE_QUEUE = {"type": "create", "queue": "fuzz-large", "max_length": 10, "overflow": "drop_oldest", "label": 1}
PART_BYTES = 4096  # of a body, of which many make a large frame


def _post(message: object, label: int = 1) -> dict[str, object]:
    return {"type": "post", "queue": "fuzz-large", "message": message, "label": label}


def _posts(message: Callable[[int], object]) -> list[dict[str, object]]:
    return [_post(message(PART_BYTES), label) for label in range(1, LARGE_BYTES // PART_BYTES + 10)]


def large_frame(chance: random.Random, *, is_json: bool) -> bytes:
    """More than the broker decodes on its event loop: a long body, many values, or many commands."""
    more = LARGE_BYTES + chance.randrange(LARGE_BYTES // 4)
    if not is_json:
        posts = chance.choice(([{**_post(bytes(more)), "queue": ["fuzz-large"]}], _posts(bytes)))
        return b"".join(bincode.encode({**post, "queue": ["fuzz-large"]}) for post in posts)
    forms: list[Callable[[], object]] = [
        lambda: _post("x" * more),
        lambda: _post([0] * (more // 3)),
        lambda: _post([{"": 0}] * (more // 8)),
        lambda: _posts(lambda size: "x" * size),
    ]
    return json.dumps(chance.choice(forms)()).encode()
