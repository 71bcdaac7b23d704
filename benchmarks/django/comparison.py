"""Runs each measurement by turns with what it is held against."""

from functools import partial
from types import ModuleType

from benchmarks import report
from benchmarks.alternation import alternate
from benchmarks.broker_process import BrokerProcess, fresh_broker
from benchmarks.django import blocking_client, commit_to_received, transactional_posts, willow_tasks
from benchmarks.figures import Bar, Figure
from benchmarks.load_process import LoadProcess
from benchmarks.peers import celery_tasks, procrastinate_tasks, task_queues
from benchmarks.peers.environment import enter_peers_environment
from benchmarks.scale import Scale

LIKE_AN_INSERT = Bar(1.3, at_most=True)
SOON = 100.0  # milliseconds
WITHIN = Bar(1, at_most=True)
COMMITS_PER_SECOND = 4  # of a run's seconds, for how soon posts arrive
NEARLY_ASYNCHRONOUS = Bar(0.8)
TASK_QUEUES = {procrastinate_tasks: Bar(5), celery_tasks: Bar(2)}


def measure_django(scale: Scale) -> list[Figure]:
    figures = [*_with_a_broker(scale), *_tasks(scale)]
    report.print_heading()
    report.print_figures(figures)
    return figures


def _with_a_broker(scale: Scale) -> list[Figure]:
    with fresh_broker() as broker, LoadProcess() as load:
        posts = _posts_in_transactions(broker, scale)
        broker.start()
        return [*posts, *_posts_arrive(broker, load, scale), _clients_that_block(broker, load, scale)]


def _posts_in_transactions(broker: BrokerProcess, scale: Scale) -> list[Figure]:
    """Before the broker runs: moving the posts into their queues is its business, not the transaction's."""
    own, shop = broker.database_url, transactional_posts.prepare(broker)
    statements = (own, transactional_posts.POST), (shop, transactional_posts.POST), (own, transactional_posts.INSERT)
    posts, posts_of_role, inserts = alternate(
        2 * scale.runs + 1,
        *(partial(transactional_posts.microseconds, *statement, scale.seconds / 4) for statement in statements),
    )
    name = "willow_post in a transaction (limit: a plain insert, one index)"
    return [
        Figure(name=name, unit="µs", values=posts, limits=inserts, bar=LIKE_AN_INSERT),
        Figure(name="the same by a role that was granted the queue", unit="µs", values=posts_of_role, limits=inserts),
    ]


def _posts_arrive(broker: BrokerProcess, load: LoadProcess, scale: Scale) -> list[Figure]:
    commits = int(COMMITS_PER_SECOND * scale.seconds * scale.runs)
    found = load.run(commit_to_received.measure, broker.url, broker.database_url, commits)
    name = f"from a commit with willow_post to received, p50 (limit: {SOON:g} ms)"
    return [
        Figure(name=name, unit="ms", values=[found.p50], limits=[SOON], bar=WITHIN),
        Figure(name="the same, p99", unit="ms", values=[found.p99], limits=[SOON]),
    ]


def _clients_that_block(broker: BrokerProcess, load: LoadProcess, scale: Scale) -> Figure:
    blocking, asynchronous = alternate(
        2 * scale.runs + 1,
        lambda: load.run(blocking_client.blocking, broker.url, scale.seconds / 2),
        lambda: load.run(blocking_client.asynchronous, broker.url, scale.seconds / 2),
    )
    name = "post, fetch, finish one by one, blocking (limit: asynchronous)"
    return Figure(name=name, unit="messages/s", values=blocking, limits=asynchronous, bar=NEARLY_ASYNCHRONOUS)


def _tasks(scale: Scale) -> list[Figure]:
    """Tasks that do nothing, eight at once, from a queue that was filled before."""
    enter_peers_environment()
    found: dict[ModuleType, list[float]] = {peer: [] for peer in (willow_tasks, *TASK_QUEUES)}
    for _ in range(scale.runs):
        for peer, rates in found.items():
            rates.append(_tasks_per_second(peer, scale.seconds))
    return [
        Figure(
            name=f"tasks through the worker, 8 at once (limit: {peer.NAME})",
            unit="tasks/s",
            values=found[willow_tasks],
            limits=found[peer],
            bar=bar,
        )
        for peer, bar in TASK_QUEUES.items()
    ]


def _tasks_per_second(peer: ModuleType, seconds: float) -> float:
    with LoadProcess() as load, peer.serving() as address:
        return load.run(task_queues.take, peer.__name__, address, seconds).per_second
