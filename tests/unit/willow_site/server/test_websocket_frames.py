"""The short way between bytes and messages, held against a WebSocket library that goes the long way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from willow_site.server.websocket_frames import whole_text

LENGTHS = [0, 1, 125, 126, 127, 65_535]  # where the header changes its shape


def masked(payload: bytes, opcode: Opcode = Opcode.TEXT, *, final: bool = True) -> bytes:
    return Frame(opcode, payload, fin=final).serialize(mask=True)


@given(st.lists(st.text(), max_size=4))
def test_whole_texts_come_out_one_after_the_other(texts: list[str]) -> None:
    data, begin, found = b"".join(masked(text.encode()) for text in texts), 0, []
    while (taken := whole_text(data, begin)) is not None:
        text, begin = taken
        found.append(text)
    assert (found, begin) == (texts, len(data))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_text_of_any_short_length(length: int) -> None:
    data = masked(b"x" * length)
    assert whole_text(data, 0) == ("x" * length, len(data))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_text_that_is_not_all_there_takes_the_long_way(length: int) -> None:
    data = masked(b"x" * length)
    assert [whole_text(data[:cut], 0) for cut in range(min(len(data), 20))] == [None] * min(len(data), 20)
    assert whole_text(data[:-1], 0) is None


@pytest.mark.parametrize(
    "data",
    [
        masked(b"x" * 65_536),
        masked(b"x", Opcode.BINARY),
        masked(b"x", final=False),
        masked(b"x", Opcode.CONT),
        masked(b"", Opcode.CLOSE),
        masked(b"", Opcode.PING),
        masked(b"\xff"),
        Frame(Opcode.TEXT, b"not masked").serialize(mask=False),
        bytes([0xC1]) + masked(b"with a reserved bit")[1:],
        bytes([0x81, 0x80 | 126, 0, 5]) + masked(b"short")[2:],
    ],
    ids=[
        "64 KiB",
        "binary",
        "a part",
        "a continuation",
        "close",
        "ping",
        "not UTF-8",
        "not masked",
        "reserved bit",
        "a short length in a long form",
    ],
)
def test_everything_else_takes_the_long_way(data: bytes) -> None:
    assert whole_text(data, 0) is None
