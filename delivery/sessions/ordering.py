"""What keeps the commands of one connection in their order where that matters."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from delivery.protocol.commands import Command
from delivery.sessions.under_way import UnderWay

Key = TypeVar("Key", bound=Hashable)


class OneAtATime(Generic[Key]):
    """Actions about the same key run one after the other."""

    def __init__(self) -> None:
        self._waiting: dict[Key, list[Callable[[], None]]] = {}  # behind the action that is under way

    def run(self, key: Key, action: Callable[[], None]) -> None:
        """Run now, or when the action that is under way about this key is over."""
        if key in self._waiting:
            self._waiting[key].append(action)
        else:
            self._waiting[key] = []
            action()

    def is_over(self, key: Key) -> None:
        """Called once for each action, when it has had its effect."""
        if waiting := self._waiting[key]:
            # Not called from here: many actions that are over at once would be a deep recursion.
            asyncio.get_running_loop().call_soon(waiting.pop(0))
        else:
            del self._waiting[key]


class HeldBack:
    """Commands that wait for an earlier command of their connection, because its result decides what they do."""

    def __init__(self, under_way: UnderWay) -> None:
        self._under_way = under_way
        self._waiting: deque[tuple[Callable[[], None], int]] | None = None  # each with its bytes
        self._exempt: frozenset[type[Command]] = frozenset()

    def start(self, *, exempt: frozenset[type[Command]] = frozenset()) -> None:
        """From now on commands wait, except these kinds."""
        self._waiting = deque()
        self._exempt = exempt

    def stop(self) -> None:
        """Run what waited. If one of those starts holding back, the rest waits for that."""
        waiting, self._waiting = self._waiting or deque(), None
        while waiting and self._waiting is None:
            action, size = waiting.popleft()
            self._under_way.ended(size)
            action()
        if self._waiting is not None:
            self._waiting.extend(waiting)

    def holds(self, kind: type) -> bool:
        return self._waiting is not None and kind not in self._exempt

    def add(self, action: Callable[[], None], size: int = 0) -> None:
        """Only while `holds` says so. `size`: of what the command brings, in bytes."""
        assert self._waiting is not None
        self._under_way.began(size)
        self._waiting.append((action, size))
