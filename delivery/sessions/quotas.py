"""How much each key uses of this node, held against its quotas; and what the node itself is short of.

Counted in memory, so that a post pays an addition for it and no statement. docs/decisions/quotas-without-a-hot-row.md
says how exact each quota is.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from clients.principal import Principal
from delivery.protocol.errors import Code, WillowError

UNUSED_SECONDS = 60.0  # after which a key without connections here is forgotten
SHORT_OF = {"memory": "The node is short of memory", "disk": "The disk of the data is nearly full"}

Clock = Callable[[], float]


@dataclass(slots=True)
class Bucket:
    """Tokens that come back by time: a second's worth at most.

    Whoever finds some may take more than there are; the debt is waited for. So what is larger than the bucket passes,
    too, and the rate holds.
    """

    tokens: float = 0.0
    filled_at: float | None = None

    def refill(self, rate: float, now: float) -> None:
        if self.filled_at is None:
            self.tokens = rate
        else:
            self.tokens = min(rate, self.tokens + (now - self.filled_at) * rate)
        self.filled_at = now


@dataclass(slots=True)
class KeyUse:
    """What one key uses here."""

    posts: Bucket = field(default_factory=Bucket)
    bytes: Bucket = field(default_factory=Bucket)
    nodes: int = 1  # on which it has connections: they share its rates
    readings: int = 0
    waiting_messages: float = 0  # when they were last counted, and since then what was posted here
    waiting_bytes: float = 0
    has_posted: bool = True  # since they were last counted
    used_at: float = 0.0


class KeyQuotas:
    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._by_key: dict[int, KeyUse] = {}
        self.alarms: tuple[str, ...] = ()  # what the node is short of

    def admit_post(self, principal: Principal, size: int, copies: int) -> None:
        """Refuse a post beyond a quota, or while the node is short of something. `size`: of one copy's body."""
        for alarm in self.alarms:
            raise WillowError(Code.OVERLOADED, alarm, f"{SHORT_OF[alarm]}: posts are refused for now.")
        if principal.key_id is None:
            return
        quotas, use, now = principal.quotas, self._use_of(principal.key_id), self._clock()
        use.used_at = now
        _check("waiting_messages", use.waiting_messages + copies, quotas.waiting_messages)
        _check("waiting_bytes", use.waiting_bytes + size * copies, quotas.waiting_bytes)
        _check_rate("posts_per_second", use.posts, quotas.posts_per_second, use.nodes, now)
        _check_rate("bytes_per_second", use.bytes, quotas.bytes_per_second, use.nodes, now)
        use.posts.tokens -= copies
        use.bytes.tokens -= size * copies
        use.waiting_messages += copies
        use.waiting_bytes += size * copies
        use.has_posted = True

    def admit_readings(self, principal: Principal, queues: int) -> None:
        """Refuse a subscription that reads too many queues, with those that the key reads already."""
        if principal.key_id is None:
            return
        use = self._use_of(principal.key_id)
        _check("readings", use.readings + queues, principal.quotas.readings)
        use.readings += queues
        use.used_at = self._clock()

    def _use_of(self, key_id: int) -> KeyUse:
        use = self._by_key.get(key_id)
        if use is None:
            use = self._by_key[key_id] = KeyUse()
        return use

    # what is counted now and then

    def connected(self, principals: Iterable[Principal]) -> None:
        """These have connections here. What is known of other keys is forgotten after a while."""
        for principal in principals:
            if principal.key_id is not None:
                self._use_of(principal.key_id).used_at = self._clock()
        unused = [key for key, use in self._by_key.items() if self._clock() - use.used_at > UNUSED_SECONDS]
        for key_id in unused:
            del self._by_key[key_id]

    def share_rates(self, nodes_by_key: Mapping[int, int]) -> None:
        for key_id, use in self._by_key.items():
            use.nodes = max(1, nodes_by_key.get(key_id, 1))

    def count_readings(self, queues_by_key: Mapping[int, int]) -> None:
        for key_id, use in self._by_key.items():
            use.readings = queues_by_key.get(key_id, 0)

    def keys(self) -> list[int]:
        return list(self._by_key)

    def keys_to_count(self) -> list[int]:
        """Those whose waiting messages may have changed in a way that matters: they posted, or had some before."""
        return [key for key, use in self._by_key.items() if use.has_posted or use.waiting_messages]

    def counted(self, keys: Iterable[int], waiting: Mapping[int, tuple[float, float]]) -> None:
        for key_id in keys:
            if (use := self._by_key.get(key_id)) is not None:
                use.waiting_messages, use.waiting_bytes = waiting.get(key_id, (0.0, 0.0))
                use.has_posted = False


def _check(name: str, wanted: float, most: int) -> None:
    if most and wanted > most:
        raise WillowError(Code.OVERLOADED, name, f"The quota `{name}` of your key is {most}, which is used up.")


def _check_rate(name: str, bucket: Bucket, rate: int, nodes: int, now: float) -> None:
    if not rate:
        return
    bucket.refill(rate / nodes, now)
    if bucket.tokens <= 0:
        raise WillowError(Code.OVERLOADED, name, f"The quota `{name}` of your key is {rate}: wait a moment.")
