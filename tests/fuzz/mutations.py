"""Valid frames, and what can happen to them."""

import json
import random
import struct
from collections.abc import Callable

from delivery.protocol.service_commands import CheckConfig, ClientPong, NeedBroker, Ping, Ready, WorkError, WorkReply
from tests.unit.protocol.test_bincode_vectors import COMMAND_VECTORS

BINCODE = [bytes.fromhex(encoded) for encoded, _ in COMMAND_VECTORS.values()]
# Without those of workers, after which a wrong word ends the connection, as the protocol wants it.
OF_WORKERS = (CheckConfig, Ready, Ping, ClientPong, WorkReply, WorkError, NeedBroker)
BINCODE_OF_CLIENTS = [
    bytes.fromhex(encoded) for encoded, command in COMMAND_VECTORS.values() if not isinstance(command, OF_WORKERS)
]
PLAIN_JSON = [
    {"type": "post", "queue": "fuzz-a", "message": "m", "notify": ["ready", "write", "sync", "finish"], "label": 1},
    {"type": "post", "queue": ["fuzz-a", "fuzz-b"], "tags": ["t"], "message": [0, 255], "priority": 3, "label": 2},
    {"type": "post", "queue": "fuzz-a", "message": {"base64": "AAE="}, "delay": 0.01, "ttl": 5, "label": 3},
    {"type": "post", "queue": "fuzz-a", "message": "m", "key": "k", "dedupe": "d", "label": 4},
    {"type": "fetch", "queue": "fuzz-a", "count": 3, "work_timeout": 1, "label": 5},
    {"type": "fetch", "queue": "fuzz-a", "tags": ["t", "u"], "match": "any", "block_timeout": 0.05, "label": 6},
    {"type": "pop", "queue": "fuzz-b", "match": "all", "timeout": 0.01, "label": 7},
    {"type": "finish", "queue": "fuzz-a", "shard": 1, "sequence": 1, "index": 1, "response": "write", "label": 8},
    {"type": "fail", "queue": "fuzz-a", "shard": 1, "sequence": 2, "error": "why", "delay": 0.1, "label": 9},
    {"type": "keepalive", "label": 10},
    {"type": "release", "label": 11},
    {"type": "cancel", "queue": "fuzz-a", "shard": 1, "index": 3, "label": 12},
    {"type": "create", "queue": "fuzz-s", "kind": "stream", "retention_count": 10, "label": 13},
    {"type": "create", "queue": "fuzz-c", "tags": ["t"], "max_length": 5, "overflow": "drop_oldest", "label": 14},
    {"type": "subscribe", "queue": "fuzz-a", "in_flight": 2, "label": 15},
    {"type": "unsubscribe", "label": 15},
    {"type": "register", "name": "fuzz", "persistent": False, "label": 16},
    {"type": "workrequest", "service": "fuzz", "body": "b", "timeout": 0.1, "label": 17},
]
JSON = [json.dumps(command).encode() for command in PLAIN_JSON]
JSON += [json.dumps(PLAIN_JSON[begin : begin + 3]).encode() for begin in range(0, len(PLAIN_JSON), 3)]

BYTES = bytes((0, 1, 0x7F, 0x80, 0xC0, 0xED, 0xFE, 0xFF)) + b'"\\[]{},:0-.eE \n'
NUMBERS = (0, 1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
TOKENS = (
    b"null", b"true", b"-1", b"1e400", b"NaN", b"18446744073709551616", b"0.0000000000000000000001", b'""', b"[]",
    b"{}", b'"\\u0000"', b'"\\ud800"', b'"service:fuzz"', b'"fuzz-a.dead"', b"[[[[]]]]", b'{"base64":"!"}',
    b'"' + b"x" * 300 + b'"',
)  # fmt: skip

Mutation = Callable[[random.Random, bytes, list[bytes]], bytes]


def flip_bit(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes((data[place] ^ 1 << chance.randrange(8),)) + data[place + 1 :]


def set_byte(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes((chance.choice(BYTES),)) + data[place + 1 :]


def set_number(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """What a length or a label may be."""
    place, form = chance.randrange(len(data)), chance.choice(("<I", "<Q"))
    number = struct.pack(form, chance.choice(NUMBERS) & (2 ** (8 * struct.calcsize(form)) - 1))
    return data[:place] + number + data[place + len(number) :]


def cut_off(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    return data[: chance.randrange(len(data))]


def leave_out(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + data[place + chance.randint(1, 16) :]


def repeat(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    place = chance.randrange(len(data))
    part = data[place : place + chance.randint(1, 32)]
    return data[:place] + part * chance.randint(2, 20) + data[place:]


def splice(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    other = chance.choice(others)
    return data[: chance.randrange(len(data))] + other[chance.randrange(len(other)) :]


def put_token(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """In the place of something between two signs of JSON."""
    begins = [place for place, byte in enumerate(data) if byte in b":[,"]
    if not begins:
        return set_byte(chance, data, others)
    begin = chance.choice(begins) + 1
    ends = [place for place in range(begin, len(data)) if data[place] in b",]}"]
    return data[:begin] + chance.choice(TOKENS) + data[ends[0] if ends else begin :]


MUTATIONS: tuple[Mutation, ...] = (
    flip_bit, set_byte, set_number, cut_off, leave_out, repeat, splice, put_token, put_token,
)  # fmt: skip
MOST_MUTATIONS = 4
LONGEST = 100_000  # bytes


def mutated(chance: random.Random, seeds: list[bytes]) -> bytes:
    data = chance.choice(seeds)
    for _ in range(chance.randint(1, MOST_MUTATIONS)):
        if not data:
            break
        data = chance.choice(MUTATIONS)(chance, data, seeds)[:LONGEST]
    return data
