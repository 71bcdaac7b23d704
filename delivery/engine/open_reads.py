"""The fetches and pops of a node that have no answer yet: how many there may be, and how many of one caller."""

from collections import Counter
from collections.abc import Hashable

from delivery.protocol.errors import Code, WillowError

SHARE_OF_CALLER = 2  # a caller may have one part in so many of all
LITTLE_SHARE = 64  # whoever has no more than one part in so many is not refused because others have too many


class OpenReads:
    def __init__(self, most: int) -> None:
        self._most = most
        self._by_caller: Counter[Hashable] = Counter()
        self._count = 0

    def refusal(self, caller: Hashable) -> WillowError | None:
        """Why this caller may not have one more, if it may not."""
        own = self._by_caller.get(caller, 0)
        most_of_caller = max(self._most // SHARE_OF_CALLER, 1)
        if own >= most_of_caller:
            reason = f"You have {own} fetches and pops waiting at this node already, of {most_of_caller} that you may."
            return WillowError(Code.OVERLOADED, "node", reason)
        if self._count >= self._most and own >= self._most // LITTLE_SHARE:
            reason = f"This node has {self._count} fetches and pops waiting already. Please try again."
            return WillowError(Code.OVERLOADED, "node", reason)
        return None

    def began(self, caller: Hashable) -> None:
        self._count += 1
        self._by_caller[caller] += 1

    def ended(self, caller: Hashable) -> None:
        self._count -= 1
        self._by_caller[caller] -= 1
        if not self._by_caller[caller]:
            del self._by_caller[caller]
