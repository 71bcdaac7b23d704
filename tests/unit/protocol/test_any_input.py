"""Whatever arrives, the codecs answer with commands and errors, and raise nothing."""

from hypothesis import given
from hypothesis import strategies as st

from delivery.protocol import bincode
from delivery.protocol import json as json_codec
from delivery.protocol.commands import Command
from delivery.protocol.errors import FrameError
from tests.unit.protocol.samples import LIMITS
from tests.unit.protocol.test_bincode_vectors import COMMAND_VECTORS

JSON_FRAME = (
    b'[{"type":"post","queue":["q","r"],"tags":["t"],"message":"m\\u00e9","priority":5,"label":1,"ttl":1.5},'
    b'{"type":"finish","queue":"q","sequence":1,"shard":2,"response":null,"reply":[1,2]}]'
)
BINCODE_FRAME = b"".join(bytes.fromhex(encoded) for encoded, _ in COMMAND_VECTORS.values())


def damaged(frame: bytes):
    """The frame with some of its bytes replaced by others, or by more or fewer."""
    places = st.integers(0, len(frame) - 1)
    damage = st.tuples(places, st.integers(0, 4), st.binary(max_size=4))

    def apply(damages):
        data = frame
        for place, removed, added in damages:
            data = data[:place] + added + data[place + removed :]
        return data

    return st.lists(damage, min_size=1, max_size=3).map(apply)


def assert_commands_and_errors(decoded):
    assert decoded
    assert all(isinstance(each, Command | FrameError) for each in decoded)


@given(frame=st.binary() | damaged(JSON_FRAME))
def test_any_bytes_as_json(frame):
    assert_commands_and_errors(json_codec.decode(frame, LIMITS))


@given(frame=st.text() | st.text(alphabet='[]{},:"\\truefalsn0123456789eE+-. pyqo'))
def test_any_text_as_json(frame):
    assert_commands_and_errors(json_codec.decode(frame, LIMITS))


@given(frame=st.binary() | damaged(BINCODE_FRAME))
def test_any_bytes_as_bincode(frame):
    assert_commands_and_errors(bincode.decode(frame, LIMITS))
