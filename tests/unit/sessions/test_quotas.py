"""Token buckets and counts of keys, with a clock that the test moves."""

import pytest

from clients.principal import ANONYMOUS, Principal
from clients.quotas import Quotas
from delivery.protocol.errors import WillowError
from delivery.sessions.quotas import UNUSED_SECONDS, KeyQuotas
from delivery.sessions.shared_rates import LEAST_SHARE, fair_share


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quotas(clock: Clock) -> KeyQuotas:
    return KeyQuotas(clock)


def key(**quotas: int) -> Principal:
    return Principal(client_id=1, client_name="c", key_id=1, quotas=Quotas(**quotas))


def admitted(quotas: KeyQuotas, principal: Principal, posts: int, size: int = 1) -> int:
    """How many of these posts pass."""
    passed = 0
    for _ in range(posts):
        try:
            quotas.admit_post(principal, size, 1)
        except WillowError as error:
            assert error.code == "Overloaded"
        else:
            passed += 1
    return passed


def test_a_seconds_worth_at_once_and_then_the_rate(quotas: KeyQuotas, clock: Clock) -> None:
    poster = key(posts_per_second=10)
    assert admitted(quotas, poster, 100) == 10
    passed = 0
    for _ in range(100):
        clock.now += 0.1
        passed += admitted(quotas, poster, 5)
    assert passed == pytest.approx(100, abs=1)
    clock.now += 3600
    assert admitted(quotas, poster, 100) == 10, "a long pause saves no more than a second's worth"


def test_a_post_larger_than_the_bucket_passes_and_is_waited_for(quotas: KeyQuotas, clock: Clock) -> None:
    poster = key(bytes_per_second=100)
    assert admitted(quotas, poster, 2, size=1000) == 1
    clock.now += 8.9
    assert admitted(quotas, poster, 1) == 0
    clock.now += 0.2
    assert admitted(quotas, poster, 1) == 1


def test_a_lone_busy_node_has_the_whole_rate(quotas: KeyQuotas, clock: Clock) -> None:
    """Also when the key is connected to others, where it posts little."""
    poster = key(posts_per_second=1000)
    admitted(quotas, poster, 2000)
    passed = 0
    for _ in range(10):
        clock.now += 1
        quotas.rates_wanted()
        quotas.share_rates([{"1": [20.0, 0.0]}])
        passed += admitted(quotas, poster, 2000)
    assert passed == pytest.approx(10 * 980, rel=0.03)


@pytest.mark.parametrize(
    ("wants", "shares"),
    [
        ([1000.0], [1000.0]),
        ([0.0], [1000.0]),
        ([1000.0, 1000.0], [500.0, 500.0]),
        ([100.0, 1000.0], [100.0, 900.0]),
        ([100.0, 1000.0, 400.0], [100.0, 500.0, 400.0]),
        ([100.0, 300.0], [400.0, 600.0]),
        ([0.0, 1000.0], [20.0, 980.0]),
    ],
)
def test_nodes_share_a_rate_by_what_is_wanted(wants: list[float], shares: list[float]) -> None:
    """All of it is given out, and what somebody does not want goes to the others."""
    told = [max(want, LEAST_SHARE * 1000) for want in wants]
    for number, share in enumerate(shares):
        others = told[:number] + told[number + 1 :]
        assert fair_share(1000, wants[number], others) == pytest.approx(share)


def test_what_is_wanted_includes_what_was_refused_and_fades(quotas: KeyQuotas, clock: Clock) -> None:
    poster = key(posts_per_second=100)
    quotas.rates_wanted()
    admitted(quotas, poster, 500)
    clock.now += 1
    assert quotas.rates_wanted() == {"1": (100, 0)}
    clock.now += 1
    assert quotas.rates_wanted() == {"1": (50, 0)}


def test_callers_without_a_key_have_quotas_together(quotas: KeyQuotas) -> None:
    one, another = (Principal(quotas=Quotas(waiting_messages=10)) for _ in range(2))
    assert admitted(quotas, one, 6) + admitted(quotas, another, 6) == 10


def test_what_waits_is_what_was_counted_and_what_came_since(quotas: KeyQuotas) -> None:
    poster = key(waiting_messages=10, waiting_bytes=1000)
    assert admitted(quotas, poster, 20) == 10
    assert quotas.keys_to_count() == [1]
    quotas.counted([1], {1: (4.0, 950.0)})
    assert admitted(quotas, poster, 20, size=20) == 2, "by bytes"
    quotas.counted([1], {})
    assert quotas.keys_to_count() == [], "nothing of it waits, and it has posted nothing"
    assert admitted(quotas, poster, 20) == 10


def test_without_quotas_and_without_a_key_everything_passes(quotas: KeyQuotas) -> None:
    assert admitted(quotas, key(), 1000, size=10**9) == 1000
    assert admitted(quotas, ANONYMOUS, 1000, size=10**9) == 1000


def test_an_alarm_holds_for_everybody_until_it_is_over(quotas: KeyQuotas) -> None:
    quotas.alarms = ("memory",)
    with pytest.raises(WillowError) as refusal:
        quotas.admit_post(ANONYMOUS, 1, 1)
    assert (refusal.value.code, refusal.value.key) == ("Overloaded", "memory")
    quotas.alarms = ()
    assert admitted(quotas, ANONYMOUS, 1) == 1


def test_keys_that_are_not_used_are_forgotten(quotas: KeyQuotas, clock: Clock) -> None:
    admitted(quotas, key(), 1)
    clock.now += UNUSED_SECONDS + 1
    quotas.connected([])
    assert quotas.keys_to_count() == []
