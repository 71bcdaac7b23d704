"""Two brokers by turns: one on which something has grown, and one on which there is little of it."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.driven.broker import DrivenBroker, migrate
from benchmarks.figures import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.sweep.growth import GROWTHS, Growth
from benchmarks.sweep.probe import COMMANDS, Cost, probe
from willow_site.embedded.postgres import throwaway_postgres

MIGRATED = "willow"  # the database that the server came with


@dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    of: Callable[[Cost], float]
    bar: Bar  # for the ratio to what it is where there is little


CPU = Measure("", "µs", lambda cost: cost.cpu, Bar(1.5, at_most=True))
WAL = Measure(": WAL", "bytes", lambda cost: cost.wal, Bar(1.5, at_most=True))
PAGES = Measure(": pages", "pages", lambda cost: cost.pages, Bar(2.0, at_most=True))  # trees grow a level or two
SPEED = Measure("s one by one", "posts/s", lambda cost: 1 / cost.seconds, Bar(0.9))

Costs = Sequence[dict[str, Cost]]  # one for each round


def sweep(scale: Scale, chosen: Iterable[str]) -> list[Figure]:
    figures = []
    with throwaway_postgres() as server_url:
        migrate(server_url)
        for growth in GROWTHS:
            if growth.name in chosen:
                figures += _sweep(growth, server_url, scale)
    return figures


def _sweep(growth: Growth, server_url: str, scale: Scale) -> list[Figure]:
    sizes = [size for size in scale.swept_sizes if size <= growth.most]
    with ExitStack() as stack:
        small, large = (DrivenBroker(server_url, name, copied_from=MIGRATED) for name in ("small", "large"))
        for broker in (small, large):
            stack.callback(broker.close)
            growth.grow(broker, sizes[0])
        found = []
        for size, before in zip(sizes[1:], sizes, strict=False):
            growth.grow(large, size - before)
            found.append(Comparison(growth, sizes[0], size, *_by_turns(small, large, scale.runs)))
    _print(growth, sizes, found)
    return found[-1].figures()


def _by_turns(small: DrivenBroker, large: DrivenBroker, rounds: int) -> tuple[Costs, Costs]:
    """The first round only warms up."""
    small.counters.checkpoint()
    pairs = [(probe(small), probe(large)) for _ in range(1 + rounds)][1:]
    return [one for one, _ in pairs], [other for _, other in pairs]


@dataclass(frozen=True)
class Comparison:
    """What one growth did to the costs, from the first size to this one."""

    growth: Growth
    first_size: int
    size: int
    little: Costs
    much: Costs

    def figure(self, command: str, measure: Measure) -> Figure:
        return Figure(
            name=f"{command}{measure.name} beside {self.size:,} {self.growth.name} (limit: {self.first_size:,})",
            unit=measure.unit,
            values=[measure.of(costs[command]) for costs in self.much],
            limits=[max(1.0, measure.of(costs[command])) for costs in self.little],
            bar=measure.bar,
        )

    def figures(self) -> list[Figure]:
        figures = [self.figure(command, measure) for command in COMMANDS for measure in (CPU, WAL, PAGES)]
        return [*figures, self.figure("post", SPEED)] if self.growth.name == "ended" else figures


def _print(growth: Growth, sizes: Sequence[int], found: Sequence[Comparison]) -> None:
    """Processor time at each size, and how many times as much of everything as with little."""
    heading = " ".join(f"{size:>10,}" for size in sizes)
    print(f"\n{f'µs beside … {growth.name}':24} {heading}    CPU   WAL pages")
    for command in COMMANDS:
        times = [found[0].figure(command, CPU).limit] + [each.figure(command, CPU).value for each in found]
        last = [found[-1].figure(command, measure) for measure in (CPU, WAL, PAGES)]
        ratios = " ".join(f"{figure.ratio:5.2f}" for figure in last)
        slope = "" if all(figure.passed for figure in last) else "  GROWS"
        print(f"{command:24} {' '.join(f'{time:10,.0f}' for time in times)}  {ratios}{slope}", flush=True)
    if growth.name == "ended":
        print(f"posts/s one by one, of what they were before: {found[-1].figure('post', SPEED).ratio:.2f}", flush=True)
