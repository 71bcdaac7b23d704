"""Request and reply: 8 frontends ask a service and wait for the answer, 8 workers answer at once.

The same with NATS and RabbitMQ where they are installed.
"""

from statistics import median, quantiles
from types import ModuleType

from benchmarks import report
from benchmarks.alternation import alternate
from benchmarks.figures import Figure
from benchmarks.load_process import LoadProcess
from benchmarks.peers import nats_requests, rabbitmq_rpc, willow_requests
from benchmarks.peers.local_server import NotRunError
from benchmarks.peers.requests import BODY, FRONTENDS, WORKERS, ask_and_answer
from benchmarks.rates import Meter
from benchmarks.raw import RawQueue, per_second_on_postgres
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "request-reply"
PEERS: tuple[ModuleType, ...] = (nats_requests, rabbitmq_rpc)


class Trips:
    """What the runs of one way to ask and answer showed."""

    def __init__(self, load: LoadProcess, way: ModuleType, seconds: float) -> None:
        self._load = load
        self._way = way
        self._seconds = seconds
        self._medians: list[float] = []
        self._slowest: list[float] = []

    def run(self, address: str) -> float:
        rate, waits = self._load.run(ask_and_answer, self._way.__name__, address, self._seconds)
        self._medians.append(median(waits))
        self._slowest.append(quantiles(waits, n=100)[98])
        return rate

    def latencies(self, name: str) -> list[Figure]:
        return [
            Figure(name=f"{name}, p50", unit="ms", values=self._medians),
            Figure(name=f"{name}, p99", unit="ms", values=self._slowest),
        ]


def run(stage: Stage, scale: Scale) -> list[Figure]:
    queue_id = stage.define(f"service:{willow_requests.SERVICE}")
    trips = Trips(stage.load, willow_requests, scale.seconds)

    def broker() -> float:
        stage.clear()
        return trips.run(stage.broker.url)

    def raw() -> float:
        stage.clear()
        return stage.load.run(pass_on_postgres, stage.database_url, queue_id, scale.seconds)

    rates, limits = alternate(scale.runs, broker, raw)
    name = f"request + reply, {FRONTENDS} frontends, {WORKERS} workers"
    stage.broker.stop()  # the peers have the machine for themselves, as the broker had
    return [
        Figure(name=f"{name} (limit: post + claim + finish)", unit="trips/s", values=rates, limits=limits),
        *trips.latencies(name),
        *(figure for peer in PEERS for figure in _measure(peer, stage.load, scale)),
    ]


def _measure(peer: ModuleType, load: LoadProcess, scale: Scale) -> list[Figure]:
    """None, and a line that says why, where the peer is not installed."""
    if missing := peer.missing():
        report.print_not_run(peer.NAME, f"not installed: {missing}")
        return []
    trips = Trips(load, peer, scale.seconds)
    try:
        with peer.serving() as address:
            rates = [trips.run(address) for _ in range(scale.runs)]
    except NotRunError as reason:
        report.print_not_run(peer.NAME, f"not run: {reason}")
        return []
    return [Figure(name=peer.NAME, unit="trips/s", values=rates), *trips.latencies(peer.NAME)]


async def pass_on_postgres(database_url: str, queue_id: int, seconds: float) -> float:
    async def work(queue: RawQueue, meter: Meter) -> None:
        post = queue.prepare_post([BODY])
        while meter.running:
            await queue.post(post)
            await queue.finish(await queue.claim(1))
            meter.done += 1

    return await per_second_on_postgres(database_url, queue_id, FRONTENDS, work, seconds)
