"""How much each key uses of this node, held against its quotas; and what the node itself is short of.

Counted in memory, so that a post pays an addition for it and no statement. docs/decisions/quotas-without-a-hot-row.md
says how exact each quota is.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clients.principal import Principal
from clients.quotas import UNLIMITED, Quotas
from delivery.protocol.errors import Code, WillowError
from delivery.sessions.shared_rates import Wanted, fair_share

ANONYMOUS_ACCOUNT = 0  # of all callers without a key together
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
    posts_wanted: Wanted = field(default_factory=Wanted)
    bytes_wanted: Wanted = field(default_factory=Wanted)
    wanted_elsewhere: list[tuple[float, float]] = field(default_factory=list)  # posts and bytes, of each other node
    posts_per_second: int = 0  # its quotas, when it was last used
    bytes_per_second: int = 0
    readings: int = 0  # of subscriptions, when they were last counted, and those that began since then
    being_read: int = 0  # by fetches and pops of several queues, now
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
        """Refuse a post beyond a quota, or while the node is short of something. `size`: of one copy."""
        for alarm in self.alarms:
            raise WillowError(Code.OVERLOADED, alarm, f"{SHORT_OF[alarm]}: posts are refused for now.")
        quotas = principal.quotas
        if quotas is UNLIMITED:
            return
        use, now = self._use_of(account_of(principal)), self._clock()
        use.used_at = now
        _check("waiting_messages", use.waiting_messages + copies, quotas.waiting_messages)
        _check("waiting_bytes", use.waiting_bytes + size * copies, quotas.waiting_bytes)
        self._check_rates(use, quotas, size, copies, now)
        use.posts.tokens -= copies
        use.bytes.tokens -= size * copies
        use.waiting_messages += copies
        use.waiting_bytes += size * copies
        use.has_posted = True

    def admit_readings(self, principal: Principal, queues: int) -> None:
        """Refuse a subscription that reads too many queues, with those that the key reads already."""
        if principal.quotas is UNLIMITED:
            return
        use = self._use_of(account_of(principal))
        _check("readings", use.readings + use.being_read + queues, principal.quotas.readings)
        use.readings += queues
        use.used_at = self._clock()

    def begin_read(self, principal: Principal, queues: int) -> None:
        """Refuse a fetch or pop of too many queues, with those that the key reads already."""
        if principal.quotas is UNLIMITED or not queues:
            return
        use = self._use_of(account_of(principal))
        _check("readings", use.readings + use.being_read + queues, principal.quotas.readings)
        use.being_read += queues
        use.used_at = self._clock()

    def end_read(self, principal: Principal, queues: int) -> None:
        """It may have begun while the key had no quotas."""
        if (use := self._by_key.get(account_of(principal))) is not None:
            use.being_read = max(use.being_read - queues, 0)

    def _check_rates(self, use: KeyUse, quotas: Quotas, size: int, copies: int, now: float) -> None:
        posts, in_bytes = quotas.posts_per_second, quotas.bytes_per_second
        if not (posts or in_bytes):
            return
        use.posts_per_second, use.bytes_per_second = posts, in_bytes
        use.posts_wanted.add(copies, now)
        use.bytes_wanted.add(size * copies, now)
        elsewhere = use.wanted_elsewhere
        if posts:
            share = fair_share(posts, use.posts_wanted.rate, [wanted for wanted, _ in elsewhere])
            _check_rate("posts_per_second", use.posts, posts, share, now)
        if in_bytes:
            share = fair_share(in_bytes, use.bytes_wanted.rate, [wanted for _, wanted in elsewhere])
            _check_rate("bytes_per_second", use.bytes, in_bytes, share, now)

    def _use_of(self, key_id: int) -> KeyUse:
        use = self._by_key.get(key_id)
        if use is None:
            use = self._by_key[key_id] = KeyUse()
        return use

    # what is counted now and then

    def connected(self, principals: Iterable[Principal]) -> None:
        """These have connections here. What is known of other keys is forgotten after a while."""
        for principal in principals:
            if principal.quotas is not UNLIMITED:
                self._use_of(account_of(principal)).used_at = self._clock()
        now = self._clock()
        unused = [key for key, use in self._by_key.items() if now - use.used_at > UNUSED_SECONDS and not use.being_read]
        for key_id in unused:
            del self._by_key[key_id]

    @property
    def has_rates(self) -> bool:
        return any(use.posts_per_second or use.bytes_per_second for use in self._by_key.values())

    def rates_wanted(self) -> dict[str, tuple[float, float]]:
        """By key: posts and bytes a second that its callers want here, for the other nodes."""
        now = self._clock()
        wanted = {
            str(key): (
                use.posts_wanted.count(now, use.posts_per_second),
                use.bytes_wanted.count(now, use.bytes_per_second),
            )
            for key, use in self._by_key.items()
            if use.posts_per_second or use.bytes_per_second
        }
        return {key: rates for key, rates in wanted.items() if any(rates)}

    def share_rates(self, wanted_elsewhere: Sequence[Mapping[str, Sequence[float]]]) -> None:
        """What each of the other nodes wants, as it says by `rates_wanted`."""
        for key_id, use in self._by_key.items():
            rates = [by_key[str(key_id)] for by_key in wanted_elsewhere if str(key_id) in by_key]
            use.wanted_elsewhere = [(posts, in_bytes) for posts, in_bytes in rates]

    def count_readings(self, queues_by_key: Mapping[int, int]) -> None:
        for key_id, use in self._by_key.items():
            use.readings = queues_by_key.get(key_id, 0)

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


def account_of(principal: Principal) -> int:
    """Under which number a caller's use is counted: that of its key, or one for all who have none."""
    return ANONYMOUS_ACCOUNT if principal.key_id is None else principal.key_id


def _check_rate(name: str, bucket: Bucket, rate: int, share: float, now: float) -> None:
    bucket.refill(share, now)
    if bucket.tokens <= 0:
        raise WillowError(Code.OVERLOADED, name, f"The quota `{name}` of your key is {rate}: wait a moment.")
