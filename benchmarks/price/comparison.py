"""Lives of messages in two versions by turns, one at a time and in hundreds, and what PostgreSQL did for each."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median

from benchmarks.driven.broker import DrivenBroker
from benchmarks.driven.counters import Reading
from benchmarks.figures import Bar, Figure
from benchmarks.price.bare_table import BareTable
from benchmarks.price.earlier_version import NoEarlierVersionError, checked_out
from benchmarks.scale import Scale
from willow_site.embedded.postgres import throwaway_postgres

QUEUE = "price"
STEPS = ("post", "fetch", "finish")
LIFE = "life"
REPEATABLE = "post with dedupe"  # as Willow's own client posts, so that it can repeat itself
NOW, BEFORE, BARE = "now", "before", "a plain insert"


@dataclass(frozen=True)
class Pace:
    """How many messages go together in one statement, and how many of them take each step before the next one."""

    name: str
    group: int
    pack: int
    packs: int  # in one round
    life_at_most: Bar  # of the processor time of the version before
    wal_at_most: int | None = None  # bytes in a life

    @property
    def messages(self) -> int:
        return self.pack * self.packs


PACES = (
    Pace("one at a time", 1, 10, 30, Bar(0.35, at_most=True)),
    Pace("in 100s", 100, 100, 30, Bar(0.5, at_most=True), wal_at_most=850),
)


class Costs:
    """Per message, of each version and step, in each round."""

    def __init__(self) -> None:
        self._cpu: defaultdict[tuple[str, str], list[float]] = defaultdict(list)  # microseconds
        self._wal: defaultdict[tuple[str, str], list[float]] = defaultdict(list)  # bytes

    def add(self, version: str, step: str, spent: Reading, messages: int) -> None:
        self._cpu[version, step].append(spent.cpu / 1000 / messages)
        self._wal[version, step].append(spent.wal / messages)

    def cpu(self, version: str, step: str) -> list[float]:
        return self._cpu[version, step]

    def wal(self, version: str, step: str) -> list[float]:
        return self._wal[version, step]


def compare_prices(scale: Scale, revision: str) -> list[Figure]:
    with throwaway_postgres() as server_url, _versions(server_url, revision) as brokers:
        bare = BareTable(brokers[NOW].database_url, brokers[NOW].counters)
        figures = []
        for pace in PACES:
            costs = _measure(brokers, bare, pace, scale.runs)
            _print(pace, costs, brokers, revision)
            figures += _figures(pace, costs, compared=BEFORE in brokers)
        bare.close()
        return figures


@contextmanager
def _versions(server_url: str, revision: str) -> Iterator[dict[str, DrivenBroker]]:
    with ExitStack() as stack:
        brokers = {}
        try:
            checkout = stack.enter_context(checked_out(revision))
            brokers[BEFORE] = DrivenBroker(server_url, "before", checkout=checkout)
            stack.callback(brokers[BEFORE].close)
        except NoEarlierVersionError as reason:
            print(reason)
        brokers[NOW] = DrivenBroker(server_url, "now")
        stack.callback(brokers[NOW].close)
        yield brokers


def _measure(brokers: dict[str, DrivenBroker], bare: BareTable, pace: Pace, rounds: int) -> Costs:
    """By turns, and another one first in each round. The first round only warms up: prepared statements, and pages that
    were not yet in the WAL."""
    costs = Costs()
    order = list(brokers.items())
    for number in range(1 + rounds):
        into = costs if number else Costs()
        for version, broker in order:
            _live(broker, pace, version, into)
        order.reverse()
        into.add(BARE, "post", bare.insert(pace.messages, pace.group), pace.messages)
    return costs


def _live(broker: DrivenBroker, pace: Pace, version: str, costs: Costs) -> None:
    """Whole lives in small packs: the queue is never long, and no list of ended messages grows."""
    spent = dict.fromkeys(STEPS, Reading())
    repeatable = Reading()
    for _ in range(pace.packs):
        reading = broker.counters.read()
        for step in STEPS:
            broker.order(step, QUEUE, pace.pack, pace.group)
            before, reading = reading, broker.counters.read()
            spent[step] += reading - before
        broker.order("post", QUEUE, pace.pack, pace.group, unique=("dedupe",))
        repeatable += broker.counters.read() - reading
        for step in ("fetch", "finish"):
            broker.order(step, QUEUE, pace.pack, pace.group)
    for step, all_of_it in spent.items():
        costs.add(version, step, all_of_it, pace.messages)
    costs.add(version, LIFE, sum(spent.values(), Reading()), pace.messages)
    costs.add(version, REPEATABLE, repeatable, pace.messages)


def _figures(pace: Pace, costs: Costs, *, compared: bool) -> list[Figure]:
    figures = []
    for step in (*STEPS, LIFE, REPEATABLE):
        name, bar = f"{step} {pace.name}", pace.life_at_most if step == LIFE and compared else None
        before = costs.cpu(BEFORE, step)
        figures.append(Figure(name=name, unit="µs", values=costs.cpu(NOW, step), limits=before, bar=bar))
    name = f"WAL of a life {pace.name} (beside the version before)"
    figures.append(Figure(name=name, unit="bytes", values=costs.wal(NOW, LIFE), limits=costs.wal(BEFORE, LIFE)))
    if pace.wal_at_most is not None:
        values = costs.wal(NOW, LIFE)
        limits = [pace.wal_at_most] * len(values)
        name = f"WAL of a life {pace.name} (limit: {pace.wal_at_most} bytes)"
        figures.append(Figure(name=name, unit="bytes", values=values, limits=limits, bar=Bar(1.0, at_most=True)))
    return figures


def _print(pace: Pace, costs: Costs, versions: Iterable[str], revision: str) -> None:
    print(f"\n{pace.name:24} {'post':>9} {'claim':>9} {'finish':>9} {'life':>9} {'WAL of a life':>14} {REPEATABLE:>17}")
    for version in versions:
        name = f"{version} ({revision})" if version == BEFORE else version
        times = " ".join(f"{median(costs.cpu(version, step)):6,.0f} µs" for step in (*STEPS, LIFE))
        repeatable = f"{median(costs.cpu(version, REPEATABLE)):14,.0f} µs"
        print(f"{name[:24]:24} {times} {median(costs.wal(version, LIFE)):12,.0f} B {repeatable}")
    print(f"{BARE:24} {median(costs.cpu(BARE, 'post')):6,.0f} µs {'':29} {median(costs.wal(BARE, 'post')):12,.0f} B")
    print(flush=True)
