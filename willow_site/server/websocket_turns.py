"""Turns of the event loop: how long one connection may keep it, when it has sent much at once.

Tiny frames cost far more than their bytes. A connection that has used its turn goes on in the next one, after all
others had theirs; meanwhile nothing more is read of it.
"""

import time

TURN_SECONDS = 0.0005
MOST_IDLE_FRAMES = 8  # pings and the like in one turn: beyond that, it was a turn for nothing
SMALLEST_PIECE_BYTES, LARGEST_PIECE_BYTES = 32, 2048


class Turn:
    __slots__ = ("_end",)

    def __init__(self) -> None:
        self._end = time.perf_counter() + TURN_SECONDS

    @property
    def is_over(self) -> bool:
        return time.perf_counter() >= self._end


class Pieces:
    """In which what arrived is looked through, unless it belongs to one large frame: a piece is a part of a turn.

    A piece of 2,048 bytes may hold one frame, or three hundred, which take twenty turns.
    """

    __slots__ = ("_began", "size")

    def __init__(self) -> None:
        self.size = LARGEST_PIECE_BYTES

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self._began
        if seconds > TURN_SECONDS / 2:
            self.size = max(SMALLEST_PIECE_BYTES, self.size // 4)
        elif seconds < TURN_SECONDS / 8:
            self.size = min(LARGEST_PIECE_BYTES, self.size * 2)
