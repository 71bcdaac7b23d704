"""Runs the work with each client that is installed, by turns, and holds Willow's against the others."""

from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType

from benchmarks import report
from benchmarks.client.costs import POST, POST_MANY, TAKE, TAKE_MANY, Costs, costs_of_client
from benchmarks.figures import Bar, Figure
from benchmarks.load_process import LoadProcess
from benchmarks.peers import nats_jetstream, rabbitmq, willow, willow_shared
from benchmarks.peers.environment import enter_peers_environment
from benchmarks.scale import Scale

OURS = (willow, willow_shared)
THEIRS = (nats_jetstream, rabbitmq)
NOT_ABOVE = Bar(1.0, at_most=True)
MESSAGES_PER_SECOND = 1000  # of a measurement's time: about as many as are posted one by one

Found = dict[ModuleType, list[Costs]]


def compare_clients(scale: Scale) -> list[Figure]:
    enter_peers_environment()
    clients = [*OURS, *THEIRS]
    for client in THEIRS:
        if remedy := client.missing():
            print(f"{client.NAME} is not installed: {remedy}", flush=True)
            clients.remove(client)
    found: Found = defaultdict(list)
    for number in range(1, scale.runs + 1):
        for client in clients:
            print(f"round {number} of {scale.runs}: {client.NAME}", flush=True)
            with LoadProcess() as load, client.serving() as address:
                found[client].append(
                    load.run(costs_of_client, client.__name__, address, round(scale.seconds * MESSAGES_PER_SECOND))
                )
    figures = [figure for peer in clients if peer in THEIRS for figure in _beside(peer, found)]
    report.print_heading()
    report.print_figures(figures)
    return figures


def _beside(peer: ModuleType, found: Found) -> Iterator[Figure]:
    for work in (POST, POST_MANY, TAKE, TAKE_MANY):
        for ours in OURS if work in (TAKE, TAKE_MANY) else (willow,):
            how = f", {ours.MODE}" if work in (TAKE, TAKE_MANY) else ""
            yield Figure(
                name=f"{work}{how} (limit: {peer.NAME})",
                unit="µs",
                values=[costs[work] for costs in found[ours]],
                limits=[costs[work] for costs in found[peer]],
                bar=NOT_ABOVE,
            )
