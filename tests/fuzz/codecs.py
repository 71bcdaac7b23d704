"""Both codecs against damaged frames: whatever comes, they answer with commands and errors, and raise nothing."""

import random

from delivery.protocol import bincode
from delivery.protocol import json as json_codec
from delivery.protocol.commands import Command
from delivery.protocol.errors import FrameError
from delivery.protocol.frames import Error
from tests.fuzz.mutations import mutated, mutated_large
from tests.fuzz.seeds import BINCODE, JSON, large_frame
from tests.unit.protocol.samples import LIMITS

LARGE = 1 / 2_000  # of the frames: each takes as long as hundreds of others
LONGEST_SHOWN = 100_000  # bytes
ENCODERS = (json_codec.Encoder(LIMITS), bincode.Encoder(LIMITS))


def fuzz_codecs(frames: int, chance: random.Random) -> list[str]:
    """What went wrong, with the frame that did it."""
    found = []
    for number in range(frames):
        is_json = bool(number % 2)
        seeds = JSON if is_json else BINCODE
        if chance.random() < LARGE:
            data = mutated_large(chance, large_frame(chance, is_json=is_json), seeds)
        else:
            data = mutated(chance, seeds)
        if (fault := _fault(is_json, data)) is not None:
            found.append(f"{'JSON' if is_json else 'bincode'} {_shown(data)}: {fault}")
    return found


def _fault(is_json: bool, data: bytes) -> str | None:
    try:
        decoded = json_codec.decode(data, LIMITS) if is_json else bincode.decode(data, LIMITS)
        for each in decoded:
            if isinstance(each, FrameError):
                for encoder in ENCODERS:  # what the client is told of it
                    encoder.encode(Error(each.label, each.code, each.key, each.message))
            elif not isinstance(each, Command):
                return f"neither a command nor an error: {each!r}"
    except Exception as error:
        return repr(error)
    return None if decoded else "no answer at all"


def _shown(data: bytes) -> str:
    return data.hex() if len(data) <= LONGEST_SHOWN else f"{data[:LONGEST_SHOWN].hex()}… ({len(data)} bytes)"
