"""Turns of the event loop: how long one connection may keep it, when it has sent much at once.

Tiny frames cost far more than their bytes. A connection that has used its turn goes on in the next one, after all
others had theirs; meanwhile nothing more is read of it.
"""

import time

TURN_SECONDS = 0.0005
PIECE_BYTES = 2048  # in which what arrived is looked through, unless it belongs to one large frame


class Turn:
    __slots__ = ("_end",)

    def __init__(self) -> None:
        self._end = time.perf_counter() + TURN_SECONDS

    @property
    def is_over(self) -> bool:
        return time.perf_counter() >= self._end
