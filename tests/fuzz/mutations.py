"""What can happen to valid frames."""

import random
import struct
from collections.abc import Callable

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
# Of large frames: the others look at every byte, or make many of a few.
QUICK_MUTATIONS: tuple[Mutation, ...] = (flip_bit, set_byte, set_number, cut_off, leave_out, splice)
MOST_MUTATIONS = 4
LONGEST = 100_000  # bytes, of what was not long before


def mutated(chance: random.Random, seeds: list[bytes]) -> bytes:
    return _mutated(chance, chance.choice(seeds), seeds, MUTATIONS, LONGEST)


def mutated_large(chance: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    return _mutated(chance, data, seeds, QUICK_MUTATIONS, 2 * len(data))


def _mutated(
    chance: random.Random, data: bytes, seeds: list[bytes], mutations: tuple[Mutation, ...], longest: int
) -> bytes:
    for _ in range(chance.randint(1, MOST_MUTATIONS)):
        if not data:
            break
        data = chance.choice(mutations)(chance, data, seeds)[:longest]
    return data
