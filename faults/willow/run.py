"""A whole run: a cluster, its clients, faults from a seed, and the judgement."""

import random
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from faults.checker import Judge, Judgement, judge, together
from faults.evidence import Evidence
from faults.history import Clock, Kind, Recorder, read_history
from faults.redelivery import HandedOver, after_disconnects, after_leases
from faults.remains import Fault
from faults.willow.afterwards import FINISHED, UNFINISHED, UNFINISHED_BY_QUEUE, read_remains
from faults.willow.cluster import POSTGRES, FaultyCluster
from faults.willow.crowd import Terms, WillowCrowd
from faults.willow.load.queues import QUEUES, bulk_queues
from faults.willow.observer import Observer
from faults.willow.troubles import Scene, Trouble
from faults.willow.troubles.at_once import all_at_once
from faults.willow.troubles.disk import FULL_DISK, small_disk
from faults.willow.troubles.upgrade import ROLLING_UPGRADE, check_out
from willow_site.processes import wait_until
from willow_site.project_folder import PROJECT_FOLDER

WARM_UP_SECONDS = 5.0
BETWEEN_SECONDS = (4.0, 10.0)
LONG_PAUSE_SECONDS = 15.0  # now and then: long enough after a fault to judge times again
COMBINED = (1, 1, 1, 2, 3)  # faults at once, at random
HEALED_LATE = (
    "clients",
    "brokers",
    "reapers",
    "clocks",
    "client clocks",
    "snapshot",
    "valkey",
    "client network",
    "valkey network",
    "storage network",
    "storage",
)
WORKED_OFF_SECONDS = 60.0
BULK_MESSAGES_A_SECOND = 10_000  # that a run is given room for


@dataclass
class Outcome:
    """Of times, in seconds: `received` when messages came; how soon claims came to others."""

    faults: list[Fault]
    judgements: list[Judgement] = field(default_factory=list)
    received: "array[float]" = field(default_factory=lambda: array("d"))
    after_disconnects: list[HandedOver] = field(default_factory=list)
    after_leases: list[HandedOver] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)

    @property
    def judgement(self) -> Judgement:
        return together(self.judgements)


@dataclass(frozen=True)
class Plan:
    """What happens in a run. The same seed chooses the same faults in the same order.

    It ends after so many `seconds`; without them, when there were so many `faults` and `messages`.
    """

    troubles: Sequence[Trouble]
    seed: int
    rate: float  # posts a second, one by one
    bulk_rate: float  # at most, a hundred at a time
    seconds: float | None = None
    faults: int = 0
    messages: int = 0
    judges: dict[str, Judge] | None = None  # None: all
    upgrade_from: str | None = None  # a revision that the cluster begins with; the first fault is the upgrade

    @property
    def room(self) -> int:
        """Messages in bulk that are to be expected at most."""
        return max(self.messages, round((self.seconds or 0.0) * min(self.bulk_rate, BULK_MESSAGES_A_SECOND)))


def carry_out(plan: Plan, tell: Callable[[str], None]) -> Outcome:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="willow-faults-")))
        folder.chmod(0o711)  # the accounts of the servers must pass through
        if FULL_DISK in plan.troubles:
            stack.enter_context(small_disk(folder / POSTGRES, plan.room))
        code = check_out(plan.upgrade_from, folder / "code") if plan.upgrade_from else PROJECT_FOLDER
        cluster = FaultyCluster(folder, code)
        stack.callback(cluster.stop)
        cluster.start()
        bulk = bulk_queues(plan.room)
        cluster.make_queues([*QUEUES, *bulk])
        histories = cluster.folder / "histories"
        histories.mkdir()
        clock, names = Clock(), [queue.name for queue in bulk]
        crowd = WillowCrowd(Terms(cluster.urls, plan.seed, plan.rate, names, plan.bulk_rate), histories, clock)
        stack.callback(crowd.kill_all)
        crowd.start_all()
        observer = Observer(cluster, Recorder(histories / "observer.jsonl", clock), names)
        outcome = Outcome(_inflict(plan, Scene(cluster, crowd, random.Random(plan.seed)), clock, names, tell))
        _work_off(cluster, crowd, tell)
        observer.stop()
        crowd.check()
        for queue in (None, *names):
            _judge(plan, cluster, crowd, queue, names, outcome)
        outcome.received = array("d", sorted(outcome.received))
        outcome.logs = cluster.logs()
        return outcome


def _judge(
    plan: Plan, cluster: FaultyCluster, crowd: WillowCrowd, queue: str | None, bulk: list[str], outcome: Outcome
) -> None:
    """One of the bulk queues, or all others together: so there is never more than one of them in memory."""
    history = read_history(crowd.histories_of(queue))
    remains = read_remains(cluster, bulk, others=True) if queue is None else read_remains(cluster, [queue])
    evidence = Evidence(history, remains, outcome.faults)
    outcome.judgements.append(judge(evidence, plan.judges))
    outcome.received.extend(event.at for event in history if event.kind == Kind.RECEIVED)
    outcome.after_disconnects.extend(after_disconnects(evidence))
    outcome.after_leases.extend(after_leases(evidence))


def _inflict(plan: Plan, scene: Scene, clock: Clock, bulk: list[str], tell: Callable[[str], None]) -> list[Fault]:
    faults: list[Fault] = []
    time.sleep(WARM_UP_SECONDS)
    began_all = time.monotonic()
    turn = 0
    while not _is_over(plan, time.monotonic() - began_all, len(faults), scene.cluster, bulk):
        turn += 1
        chosen = [ROLLING_UPGRADE] if turn == 1 and plan.upgrade_from else _choose(plan, scene.random)
        began = clock.now()
        tell(f"{time.strftime('%H:%M:%S')} {' and '.join(trouble.name for trouble in chosen)}")
        with all_at_once(chosen, scene, tell):
            time.sleep(max(scene.random.uniform(*trouble.seconds) for trouble in chosen))
        faults += [
            Fault(trouble.name, began, clock.now(), trouble.crashes_storage, trouble.loses_storage)
            for trouble in chosen
        ]
        time.sleep(LONG_PAUSE_SECONDS if turn % 5 == 0 else scene.random.uniform(*BETWEEN_SECONDS))
    return faults


def _is_over(plan: Plan, seconds: float, faults: int, cluster: FaultyCluster, bulk: list[str]) -> bool:
    if plan.seconds is not None:
        return seconds >= plan.seconds
    if faults < plan.faults:
        return False
    try:
        return bool(cluster.query(FINISHED, bulk)[0][0] >= plan.messages)
    except psycopg.Error:  # it has not come back from the last fault
        return False


def _choose(plan: Plan, dice: random.Random) -> list[Trouble]:
    """One fault, or several that are not about the same thing."""
    chosen: dict[str, Trouble] = {}
    for _ in range(dice.choice(COMBINED)):
        trouble = dice.choice(plan.troubles)
        chosen.setdefault(trouble.target, trouble)
    # What happens last is mended first: brokers can only start when their storage is there.
    return sorted(chosen.values(), key=lambda trouble: HEALED_LATE.index(trouble.target))


def _work_off(cluster: FaultyCluster, crowd: WillowCrowd, tell: Callable[[str], None]) -> None:
    """Post nothing more, let everything be finished, then let everybody go."""
    if ended := crowd.ended():
        tell(f"These clients ended by themselves: {', '.join(ended)}")
    crowd.post_no_more()
    if not wait_until(lambda: cluster.query(UNFINISHED) == [(0,)], WORKED_OFF_SECONDS):
        left = ", ".join(f"{number} in {queue}" for queue, number in cluster.query(UNFINISHED_BY_QUEUE))
        tell(f"After {WORKED_OFF_SECONDS:.0f} s, these messages are not finished: {left}")
    crowd.stop_all()
