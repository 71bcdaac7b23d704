"""What waits for a lane, and which of it goes into the next batch.

As long as everything fits into one batch, it goes in the order in which it came. If one client has sent more than
that, or very much while others are there, the sources take turns: the next batch always has room for those who sent
little, and they do not wait long for the one that is under way. Then every other batch has only requests that ask for
little: their answers do not wait for what a heavy one brings. The node's own source goes before all others.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

from delivery.storage.presence import Presence, clients_here


class Weighed(Protocol):
    @property
    def source(self) -> Hashable:
        """Whose request it is: those of one source keep their order."""

    @property
    def weight(self) -> int:
        """What it asks of the storage beyond being one request, in the unit of its lane."""


LIGHT_SHARE = 128  # of what a batch may weigh: a request that weighs no more than that part is light
MOST_OF_ONE = 32  # messages of one source in a batch, while others are there

FIRST = "first"  # the source of what the node itself must not be late with, which is little

Item = TypeVar("Item", bound=Weighed)


def one(item: object) -> int:
    return 1


class Turns(Generic[Item]):
    """Batches of `most` messages, which together weigh `most_weight`; a request with more of either goes alone.

    `messages_in` says how many messages a request brings.
    """

    def __init__(self, most: int, most_weight: int, messages_in: Callable[[Item], int] = one) -> None:
        self._most = most
        self._most_weight = most_weight
        self._messages_in = messages_in
        self._weight = 0
        self._messages = 0
        self._all: deque[Item] = deque()  # in the order in which they came, while they fit into a batch
        self._by_source: dict[Hashable, deque[Item]] = {}  # otherwise; the next source comes first
        self._count = 0
        self._was_light = False  # the batch before
        self._presence = Presence()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        yield from self._all
        for line in self._by_source.values():
            yield from line

    def add(self, item: Item) -> None:
        self._presence.note(item.source)
        self._count += 1
        self._weight += item.weight
        self._messages += self._messages_in(item)
        if self._by_source:
            self._queue_up(item)
        else:
            self._all.append(item)

    def clear(self) -> None:
        self._all.clear()
        self._by_source.clear()
        self._count = self._weight = self._messages = 0

    def next_batch(self) -> list[Item]:
        if not self._by_source:
            if self._messages <= self._most and self._weight <= self._most_weight and not self._one_sent_very_much():
                batch = list(self._all)
                self.clear()
                return batch
            for item in self._all:
                self._queue_up(item)
            self._all.clear()
        return self._by_turns()

    def _one_sent_very_much(self) -> bool:
        """While others are there: who is alone may fill a batch."""
        if self._messages <= MOST_OF_ONE or not self._are_others_here:
            return False
        by_source: Counter[Hashable] = Counter()
        for item in self._all:
            by_source[item.source] += self._messages_in(item)
        return max(by_source.values()) > MOST_OF_ONE

    @property
    def _are_others_here(self) -> bool:
        """Also if they want nothing of this lane: they share the processor and the storage with it."""
        return self._presence.is_of_several or clients_here.is_of_several

    def _queue_up(self, item: Item) -> None:
        line = self._by_source.get(item.source)
        if line is None:
            line = self._by_source[item.source] = deque()
        line.append(item)

    def _by_turns(self) -> list[Item]:
        if (first := self._by_source.pop(FIRST, None)) is not None:
            self._by_source = {FIRST: first, **self._by_source}
        batch = [] if self._was_light else self._taken(self._most_weight // LIGHT_SHARE)
        self._was_light = bool(batch)
        return batch or self._taken(self._most_weight)

    def _taken(self, heaviest: int) -> list[Item]:
        """A batch of requests, none of which weighs more; only if it is the first of a batch of any."""
        batch: list[Item] = []
        weight, messages, lines = 0, 0, self._by_source
        any_alone = heaviest == self._most_weight
        most_of_one = MOST_OF_ONE if self._are_others_here else self._most
        taken: Counter[Hashable] = Counter()  # messages by source
        left: dict[Hashable, deque[Item]] = {}  # too heavy for this batch: they begin the next one
        had_most: dict[Hashable, deque[Item]] = {}
        while lines and messages < self._most:
            source = next(iter(lines))
            line = lines.pop(source)
            more = self._messages_in(line[0])
            if taken[source] and taken[source] + more > most_of_one:
                had_most[source] = line
                continue
            fits = line[0].weight <= heaviest and weight + line[0].weight <= self._most_weight
            fits = fits and messages + more <= self._most
            if not fits and (batch or not any_alone):
                left[source] = line
                continue
            item = line.popleft()
            batch.append(item)
            weight += item.weight
            messages += more
            taken[source] += more
            if line:
                lines[source] = line
        self._by_source = {**left, **lines, **had_most}
        self._count -= len(batch)
        self._weight -= weight
        self._messages -= messages
        return batch
