"""Actions about one thing, each after the one before it."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class InTurn(Generic[Key]):
    def __init__(self) -> None:
        self._waiting: dict[Key, list[Callable[[], None]]] = {}  # behind the action that is under way

    def run(self, key: Key, action: Callable[[], None]) -> None:
        """Run now, or when what is under way about the key is over."""
        if key in self._waiting:
            self._waiting[key].append(action)
        else:
            self._waiting[key] = []
            action()

    def is_over(self, key: Key) -> None:
        """Called once for each action, when it has had its effect."""
        if waiting := self._waiting[key]:
            # Not from here: a long line whose actions are over at once would end in a deep recursion.
            asyncio.get_running_loop().call_soon(waiting.pop(0))
        else:
            del self._waiting[key]
