"""Which queues of a name a reader's tags and match choose, found by the tags and not by going through all of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from delivery.protocol.fields import Match
from queues.definitions import QueueRecord

TagSet = tuple[str, ...]  # sorted, each once


@dataclass(eq=False, slots=True)
class Watch:
    """A reader that wants every queue that matches, also those that are made while it reads."""

    name: str
    tags: frozenset[str]
    match: Match
    join: Callable[[QueueRecord], None]
    ended: bool = False


def matches(queue_tags: Iterable[str], wanted: frozenset[str], match: Match) -> bool:
    """Whether a queue of the right name is among those that a reader's tags and match choose."""
    tags = frozenset(queue_tags)
    if match == "all":
        return True
    if match == "exact":
        return tags == wanted
    if match == "strict":
        return tags >= wanted
    return bool(tags & wanted)  # combined, any


def default_match(tags: Iterable[str]) -> Match:
    return "exact" if tuple(tags) else "all"


class QueuesOfName:
    """All queues of one name."""

    def __init__(self) -> None:
        self._by_tags: dict[TagSet, QueueRecord] = {}
        self._by_tag: dict[str, dict[TagSet, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_tags)

    def get(self, tags: TagSet) -> QueueRecord | None:
        return self._by_tags.get(tags)

    def put(self, queue: QueueRecord) -> None:
        self._by_tags[queue.tags] = queue
        for tag in queue.tags:
            self._by_tag.setdefault(tag, {})[queue.tags] = None

    def remove(self, queue: QueueRecord) -> None:
        if self._by_tags.get(queue.tags) != queue:
            return
        del self._by_tags[queue.tags]
        for tag in queue.tags:
            del self._by_tag[tag][queue.tags]
            if not self._by_tag[tag]:
                del self._by_tag[tag]

    def matching(self, tags: Iterable[str], match: Match) -> list[QueueRecord]:
        """In the order in which they became known."""
        wanted = frozenset(tags)
        if match == "exact":
            queue = self._by_tags.get(tuple(sorted(wanted)))
            return [queue] if queue is not None else []
        if match == "all" or (match == "strict" and not wanted):
            return list(self._by_tags.values())
        if match == "strict":
            rarest = min((self._by_tag.get(tag, {}) for tag in wanted), key=len)
            return [self._by_tags[found] for found in rarest if wanted <= set(found)]
        found = {tag_set: None for tag in sorted(wanted) for tag_set in self._by_tag.get(tag, ())}
        return sorted((self._by_tags[tag_set] for tag_set in found), key=lambda queue: queue.id)


class Watches:
    """Those who want to hear of new queues, found by the name and a tag of the queue."""

    def __init__(self) -> None:
        # By name and tag; None: those that may match whatever the tags are.
        self._by_key: dict[tuple[str, str | None], dict[Watch, None]] = {}
        self._by_name: dict[str, int] = {}  # how many

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def add(self, watch: Watch) -> None:
        self._by_name[watch.name] = self._by_name.get(watch.name, 0) + 1
        for key in _keys(watch):
            self._by_key.setdefault(key, {})[watch] = None

    def remove(self, watch: Watch) -> None:
        if watch.ended:
            return
        watch.ended = True
        self._by_name[watch.name] -= 1
        if not self._by_name[watch.name]:
            del self._by_name[watch.name]
        for key in _keys(watch):
            del self._by_key[key][watch]
            if not self._by_key[key]:
                del self._by_key[key]

    def of(self, queue: QueueRecord) -> Iterator[Watch]:
        """Those that match a queue, each once."""
        seen: set[Watch] = set()
        for tag in (None, *queue.tags):
            for watch in list(self._by_key.get((queue.name, tag), ())):
                if watch not in seen and matches(queue.tags, watch.tags, watch.match):
                    seen.add(watch)
                    yield watch


def _keys(watch: Watch) -> list[tuple[str, str | None]]:
    """Where a watch is kept, so that a queue that it matches leads there by one of its tags."""
    if watch.match == "all" or not watch.tags:
        return [(watch.name, None)]
    if watch.match in ("exact", "strict"):  # such a queue has all of its tags: one is enough to find it
        return [(watch.name, min(watch.tags))]
    return [(watch.name, tag) for tag in sorted(watch.tags)]
