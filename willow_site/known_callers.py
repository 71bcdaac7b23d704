"""Who has lately shown a good key or login: known before Django looks at the next request, which has to wait in line.

What is shown is remembered by its hash. That it is forgotten, or ended meanwhile, only changes where its requests wait.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

FOUND = "willow.caller"  # in the scope of a request
REMEMBERED_SECONDS = 600.0
MOST_REMEMBERED = 10_000


class Caller(Enum):
    CLIENT = "client"
    OPERATOR = "operator"


@dataclass(slots=True)
class Found:
    """Where Django leaves what it found out about a caller."""

    has_looked: bool = False  # files are sent without a look
    caller: Caller | None = None  # nobody that it knows


class KnownCallers:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[Caller, float]] = OrderedDict()  # who, and until when; the latest last

    def who(self, credential: bytes | None) -> Caller | None:
        if credential is None or (known := self._known.get(credential)) is None:
            return None
        caller, until = known
        return caller if self._clock() < until else None

    def learn(self, credential: bytes | None, caller: Caller | None) -> None:
        if credential is None:
            return
        self._known.pop(credential, None)
        if caller is not None:
            self._known[credential] = caller, self._clock() + REMEMBERED_SECONDS
            if len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
