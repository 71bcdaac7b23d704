"""The traffic light: what is wrong, how badly, and where to look."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from clients.models import Node
from console.templatetags.console import duration
from delivery.figures.database import Snapshot
from delivery.figures.queues import QueueFigures
from delivery.models import DutyRun

OLD_SECONDS = 300.0  # that a claimable message may wait without a warning
UNCONSUMED_SECONDS = 60.0
FULL_SHARE = 0.9  # of max_length, and of the number of queues
REAPER_SECONDS = 30.0  # without a sign of the reaper
SNAPSHOT_SECONDS = 300.0
LONG_SNAPSHOT_SECONDS = 1800.0
MOST_NAMED = 3  # queues that a sentence names


class Level(IntEnum):
    OK = 0
    WARN = 1
    BAD = 2

    @property
    def css(self) -> str:
        return self.name.lower()

    @property
    def word(self) -> str:
        return {Level.OK: "fine", Level.WARN: "look", Level.BAD: "act"}[self]


@dataclass(frozen=True, slots=True)
class Reason:
    level: Level
    sentence: str
    link: str


@dataclass(frozen=True, slots=True)
class Light:
    level: Level
    reasons: Sequence[Reason]

    @property
    def headline(self) -> str:
        if self.level is Level.OK:
            return "Everything is moving"
        number = len(self.reasons)
        things = "One thing needs" if number == 1 else f"{number} things need"
        return f"{things} {'action' if self.level is Level.BAD else 'a look'}"


def light_of(
    queues: Sequence[QueueFigures],
    nodes: Sequence[Node],
    duties: Sequence[DutyRun],
    snapshots: Sequence[Snapshot],
    dead_in_the_last_hour: int,
    late: Sequence[tuple[str, float]] = (),
) -> Light:
    now = timezone.now()
    reasons = [
        *_of_nodes(nodes, now),
        *_of_reaper(duties, now),
        *_of_queues(queues),
        *_of_schedules(late),
        *_of_dead_letters(dead_in_the_last_hour),
        *_of_snapshots(snapshots),
    ]
    reasons.sort(key=lambda reason: -reason.level)
    return Light(max((reason.level for reason in reasons), default=Level.OK), reasons)


def is_silent(node: Node, now: datetime) -> bool:
    return (now - node.heartbeat_at).total_seconds() > settings.WILLOW.node_lapse


def _of_nodes(nodes: Iterable[Node], now: datetime) -> Iterator[Reason]:
    link = reverse("console:nodes")
    silent = [node.name for node in nodes if is_silent(node, now)]
    if len(silent) == len(list(nodes)):
        yield Reason(Level.BAD, "No node is alive: no client can connect.", link)
    elif silent:
        yield Reason(Level.WARN, f"Silent without having left: {', '.join(silent)}.", link)
    short = [
        f"{node.name} of {' and '.join(node.alarms)}" for node in nodes if node.alarms and not is_silent(node, now)
    ]
    if short:
        yield Reason(Level.BAD, f"Short, and refusing posts: {', '.join(short)}.", link)
    draining = [node.name for node in nodes if node.draining and not is_silent(node, now)]
    if draining:
        yield Reason(Level.WARN, f"Draining, and about to stop: {', '.join(draining)}.", link)


def _of_reaper(duties: Sequence[DutyRun], now: datetime) -> Iterator[Reason]:
    link = reverse("console:reaper")
    newest = max((duty.ran_at for duty in duties), default=None)
    if newest is None:
        yield Reason(Level.BAD, "No reaper has ever run: timeouts, delays and retries stand still.", link)
    elif (silent := (now - newest).total_seconds()) > REAPER_SECONDS:
        sentence = f"No reaper for {duration(silent)}: timeouts, delays and retries stand still."
        yield Reason(Level.BAD, sentence, link)
    for duty in duties:
        if duty.error:
            yield Reason(Level.WARN, f"The reaper could not {duty.duty}: {duty.error.splitlines()[0][:120]}", link)


def _of_queues(queues: Sequence[QueueFigures]) -> Iterator[Reason]:
    link = reverse("console:queues")
    unconsumed = [q for q in queues if q.is_unconsumed and not q.paused and (q.oldest_age or 0) > UNCONSUMED_SECONDS]
    slow = [q for q in waiting_queues(queues) if q.consumers and (q.oldest_age or 0) > OLD_SECONDS and not q.paused]
    paused = [q for q in queues if q.paused and q.ready]
    full = [q for q in queues if q.max_length and q.live >= q.max_length * FULL_SHARE]
    findings = (
        (unconsumed, "Messages that nobody consumes", "unconsumed"),
        (slow, f"Messages older than {duration(OLD_SECONDS)} although somebody consumes", "slow"),
        (paused, "Messages wait in paused queues", "paused"),
        (full, "Nearly as many messages as allowed", "full"),
    )
    for found, what, which in findings:
        if found:
            yield Reason(Level.WARN, f"{what}: {_some(found)}.", f"{link}?only={which}")
    most = settings.WILLOW.max_queue_count
    if len(queues) >= most * FULL_SHARE:
        yield Reason(Level.WARN, f"There are {len(queues):,} queues, and at most {most:,} may be.", link)


def _of_schedules(late: Sequence[tuple[str, float]]) -> Iterator[Reason]:
    """By name, with how many seconds each is behind."""
    if late:
        worst = max(seconds for _, seconds in late)
        named = ", ".join(name for name, _ in late[:MOST_NAMED])
        more = f" and {len(late) - MOST_NAMED:,} more" if len(late) > MOST_NAMED else ""
        sentence = f"Schedules are up to {duration(worst)} late: {named}{more}."
        yield Reason(Level.BAD, sentence, reverse("console:schedules"))


def _of_dead_letters(dead: int) -> Iterator[Reason]:
    if dead:
        sentence = f"{dead:,} message{'s' if dead > 1 else ''} died within the hour."
        yield Reason(Level.WARN, sentence, reverse("console:dead_letters"))


def _of_snapshots(snapshots: Iterable[Snapshot]) -> Iterator[Reason]:
    for snapshot in snapshots:
        if snapshot.seconds > SNAPSHOT_SECONDS:
            level = Level.BAD if snapshot.seconds > LONG_SNAPSHOT_SECONDS else Level.WARN
            sentence = f"{snapshot.owner} has kept a transaction open for {duration(snapshot.seconds)}: "
            yield Reason(level, sentence + "dead rows pile up, and claims become slow.", reverse("console:database"))


def waiting_queues(queues: Iterable[QueueFigures]) -> list[QueueFigures]:
    """Queues with a claimable message, the longest wait first. Dead letters wait for people, not for clients."""
    waiting = [queue for queue in queues if queue.oldest_age is not None and not queue.is_dead_letters]
    return sorted(waiting, key=lambda queue: -(queue.oldest_age or 0))


def _some(queues: Sequence[QueueFigures]) -> str:
    named = ", ".join(str(queue) for queue in queues[:MOST_NAMED])
    more = len(queues) - MOST_NAMED
    return f"{named} and {more:,} more" if more > 0 else named
