"""One attack after the other, each on a fresh node: what its bystander saw before and during it, and what it cost."""

import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import LiteralString

from benchmarks.broker_process import BrokerProcess, memory_with_children
from benchmarks.figures import Bar, Figure
from benchmarks.load_process import LoadProcess
from benchmarks.neighbours.attacker import Spoils, Target
from benchmarks.neighbours.attacks import ATTACKS, Attack
from benchmarks.neighbours.bystander import Seen, behave_well, times
from benchmarks.report import print_figures, print_heading
from benchmarks.scale import Scale
from benchmarks.stage import Stage, stage

AT_MOST_TWICE = Bar(2.0, at_most=True)
WITHIN = Bar(1.0, at_most=True)
NONE = Bar(0.0, at_most=True)
MEMORY_MB = 200.0  # that a node may grow by
SAMPLE_SECONDS = 0.05
MEGABYTE = 1_000_000
# Those of the attack before would leave this one no room: all that it posts to queues of its own would be refused.
QUEUES_GO: LiteralString = "TRUNCATE queues_queue CASCADE"
NICENESS = 5  # attackers step back: what they cost the node is measured, not their own processor time


def meet_neighbours(scale: Scale, chosen: Iterable[str]) -> list[Figure]:
    figures: list[Figure] = []
    print_heading()
    with stage() as prepared, LoadProcess() as attacker:
        attacker.run(_step_back)
        for name in chosen:
            found = _under_attack(prepared, attacker, ATTACKS[name], scale)
            print_figures(found)
            figures += found
    return figures


async def _step_back() -> None:
    os.nice(NICENESS)


def _under_attack(prepared: Stage, attacker: LoadProcess, attack: Attack, scale: Scale) -> list[Figure]:
    prepared.broker.stop()
    prepared.execute(QUEUES_GO)
    rounds = [_round(prepared, attacker, attack, scale.attack_seconds) for _ in range(scale.runs)]
    return _figures(attack.NAME, rounds)


class Round:
    def __init__(self, before: Seen, during: Seen, grown_mb: float, kept_mb: float, spoils: Spoils) -> None:
        self.before, self.during = times(before.commands), times(during.commands)
        self.greeted_before, self.greeted = times(before.greetings), times(during.greetings)
        self.refused = during.refusals
        self.grown_mb = grown_mb
        self.kept_mb = kept_mb
        self.spoils = spoils


def _round(prepared: Stage, attacker: LoadProcess, attack: Attack, seconds: float) -> Round:
    prepared.begin_scenario(None)
    prepared.on_broker(behave_well, 1.0)  # warms up
    before = prepared.on_broker(behave_well, seconds)
    target = Target(prepared.broker.url, prepared.broker.http_url, _key(prepared.broker, attack))
    start = memory_with_children(prepared.broker.pid)
    with Watch(prepared.broker) as watch, ThreadPoolExecutor(1) as beside:
        attacking = beside.submit(attacker.run, attack.attack, target, seconds)
        during = prepared.on_broker(behave_well, seconds)
        spoils = attacking.result()
    kept = memory_with_children(prepared.broker.pid)
    if log := prepared.broker.log().strip():
        print(f"The broker's log, its last line of {len(log.splitlines())}: {log.splitlines()[-1]}")
    _print(attack.NAME, during, spoils)
    return Round(before, during, (watch.peak - start) / MEGABYTE, (kept - start) / MEGABYTE, spoils)


def _key(broker: BrokerProcess, attack: Attack) -> str:
    """One that is good for as long as the attack wants, if it wants one."""
    if (seconds := getattr(attack, "KEY_SECONDS", None)) is None:
        return ""
    made = broker.output_of("key", "create", "--client", "attacker", "--grant", "*:post", "--expires", f"{seconds}s")
    return made.strip()


class Watch:
    """The most memory that a node had."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._pid = broker.pid
        self._over = threading.Event()
        self.peak = memory_with_children(self._pid)

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, memory_with_children(self._pid))


def _print(name: str, during: Seen, spoils: Spoils) -> None:
    got = ", ".join(f"{what}: {count:,}" for what, count in spoils.most_common()) or "nothing"
    print(f"{name}: the attacker got {got}")
    for refusal in during.refusals[:3]:
        print(f"{name}: a neighbour was refused: {refusal}")


def _figures(name: str, rounds: list[Round]) -> list[Figure]:
    def ratio(what: str, values: list[float], limits: list[float], **notes: float) -> Figure:
        return Figure(name=f"{name}: {what}", unit="ms", values=values, limits=limits, bar=AT_MOST_TWICE, notes=notes)

    spoils: Spoils = sum((each.spoils for each in rounds), Spoils())
    return [
        ratio("a command, p50 (limit: before)", [e.during.median for e in rounds], [e.before.median for e in rounds]),
        ratio("a command, p99 (limit: before)", [e.during.p99 for e in rounds], [e.before.p99 for e in rounds]),
        ratio("hello, p99 (limit: before)", [e.greeted.p99 for e in rounds], [e.greeted_before.p99 for e in rounds]),
        Figure(
            name=f"{name}: memory of the node above before",
            unit="MB",
            values=[max(0.0, e.grown_mb) for e in rounds],
            limits=[MEMORY_MB] * len(rounds),
            bar=WITHIN,
            notes={"kept afterwards": max(e.kept_mb for e in rounds)},
        ),
        Figure(
            name=f"{name}: neighbours refused",
            unit="",
            values=[len(e.refused) for e in rounds],
            limits=[1.0] * len(rounds),
            bar=NONE,
            notes={f"the attacker got: {what}": count for what, count in spoils.items()},
        ),
    ]
