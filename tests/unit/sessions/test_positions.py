"""Who is told what became of a position that was to be written."""

from typing import Any

from delivery.protocol.errors import Code, WillowError
from delivery.sessions.positions import PositionWrite


class Reader:
    pending_write = None


def test_an_answer_that_fails_keeps_none_of_the_others_from_theirs() -> None:
    reader: Any = Reader()
    write, told = PositionWrite(reader), list[WillowError | None]()

    def cannot_be_told(error: WillowError | None) -> None:
        raise RuntimeError

    for answer in (told.append, cannot_be_told, told.append):
        write.add(answer, synchronous=False)
    gone = WillowError(Code.UNAVAILABLE, "storage", "The storage is gone.")
    write.fail(gone)
    assert told == [gone, gone]
