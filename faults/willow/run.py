"""A whole run: a cluster, its clients, faults from a seed, and the judgement."""

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from faults.checker import Judge, Judgement, check
from faults.history import Clock, Event, Recorder, read_history
from faults.remains import Fault
from faults.willow.afterwards import UNFINISHED, read_remains
from faults.willow.cluster import POSTGRES, FaultyCluster
from faults.willow.crowd import Crowd
from faults.willow.load.__main__ import POP_QUEUE, STREAM, WORK_QUEUES
from faults.willow.observer import Observer
from faults.willow.troubles import Scene, Trouble
from faults.willow.troubles.disk import FULL_DISK, small_disk
from willow_site.processes import wait_until

WARM_UP_SECONDS = 5.0
BETWEEN_SECONDS = (2.0, 6.0)
LONG_PAUSE_SECONDS = 15.0  # now and then: long enough after a fault to judge times again
COMBINED = (1, 1, 1, 2, 3)  # faults at once, at random
HEALED_LATE = (
    "clients",
    "brokers",
    "reapers",
    "clocks",
    "snapshot",
    "valkey",
    "client network",
    "valkey network",
    "storage network",
    "storage",
)
WORKED_OFF_SECONDS = 60.0
RETRY_LIMITS = dict(zip(WORK_QUEUES, (None, 3), strict=True))


@dataclass(frozen=True)
class Outcome:
    judgement: Judgement
    faults: list[Fault]
    history: list[Event]
    logs: dict[str, str]


@dataclass(frozen=True)
class Plan:
    """What happens in a run. The same seed chooses the same faults in the same order."""

    troubles: Sequence[Trouble]
    seed: int
    seconds: float
    rate: float  # posts a second
    judges: dict[str, Judge] | None = None  # None: all
    most_faults: int | None = None


def carry_out(plan: Plan, tell: Callable[[str], None]) -> Outcome:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="willow-faults-")))
        folder.chmod(0o711)  # the accounts of the servers must pass through
        if FULL_DISK in plan.troubles:
            stack.enter_context(small_disk(folder / POSTGRES))
        cluster = FaultyCluster(folder)
        stack.callback(cluster.stop)
        cluster.start()
        names = [*WORK_QUEUES, POP_QUEUE]
        cluster.make_queues([{"name": name, "retry_limit": RETRY_LIMITS.get(name)} for name in names])
        cluster.make_queues([{"name": STREAM, "kind": "stream"}])
        histories = cluster.folder / "histories"
        histories.mkdir()
        clock = Clock()
        crowd = Crowd(cluster.urls, histories, clock, plan.seed, plan.rate)
        stack.callback(crowd.kill_all)
        for role, name in (("readers", "reader"), ("consumers", None), ("posters", None)):
            crowd.start(role, name)
        observer = Observer(cluster, Recorder(histories / "observer.jsonl", clock))
        faults = _inflict(plan, Scene(cluster, crowd, random.Random(plan.seed)), clock, tell)
        _work_off(cluster, crowd, tell)
        observer.stop()
        history = read_history(crowd.histories())
        tell(f"Judging {len(history)} events …")
        _check_clients(histories)
        judgement = check(history, read_remains(cluster), faults, judges=plan.judges)
        return Outcome(judgement, faults, history, cluster.logs())


def _inflict(plan: Plan, scene: Scene, clock: Clock, tell: Callable[[str], None]) -> list[Fault]:
    faults: list[Fault] = []
    time.sleep(WARM_UP_SECONDS)
    deadline = time.monotonic() + plan.seconds
    turn = 0
    while time.monotonic() < deadline and (plan.most_faults is None or len(faults) < plan.most_faults):
        turn += 1
        chosen = _choose(plan, scene.random)
        began = clock.now()
        tell(f"{time.strftime('%H:%M:%S')} {' and '.join(trouble.name for trouble in chosen)}")
        with ExitStack() as stack:
            for trouble in chosen:
                stack.enter_context(trouble.inflict(scene))
            time.sleep(max(scene.random.uniform(*trouble.seconds) for trouble in chosen))
        faults += [
            Fault(trouble.name, began, clock.now(), trouble.crashes_storage, trouble.loses_storage)
            for trouble in chosen
        ]
        time.sleep(LONG_PAUSE_SECONDS if turn % 5 == 0 else scene.random.uniform(*BETWEEN_SECONDS))
    return faults


def _choose(plan: Plan, dice: random.Random) -> list[Trouble]:
    """One fault, or several that are not about the same thing."""
    chosen: dict[str, Trouble] = {}
    for _ in range(dice.choice(COMBINED)):
        trouble = dice.choice(plan.troubles)
        chosen.setdefault(trouble.target, trouble)
    # What happens last is mended first: brokers can only start when their storage is there.
    return sorted(chosen.values(), key=lambda trouble: HEALED_LATE.index(trouble.target))


def _work_off(cluster: FaultyCluster, crowd: Crowd, tell: Callable[[str], None]) -> None:
    """Post nothing more, let everything be finished, then let everybody go."""
    if ended := crowd.ended():
        tell(f"These clients ended by themselves: {', '.join(ended)}")
    crowd.stop("posters")
    if not wait_until(lambda: cluster.query(UNFINISHED) == [(0,)], WORKED_OFF_SECONDS):
        tell(f"After {WORKED_OFF_SECONDS:.0f} s, {cluster.query(UNFINISHED)[0][0]} messages are not finished.")
    for role in ("consumers", "readers"):
        crowd.stop(role)


def _check_clients(folder: Path) -> None:
    """A mistake in the clients would make the histories worthless."""
    for log in folder.glob("*.log"):
        text = log.read_text()
        if "Traceback" in text:
            raise RuntimeError(f"The clients made a mistake:\n{text[-3000:]}")
