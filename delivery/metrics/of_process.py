"""What one broker process counted, as metrics. Every sample carries the name of the node."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import GC_COLLECTOR, PROCESS_COLLECTOR
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from delivery.protocol.version import VERSION
from delivery.sessions.quotas import SHORT_OF
from delivery.storage.lanes import Lane
from delivery.storage.meters import Distribution, incoming

if TYPE_CHECKING:
    from delivery.node.node import Node


def process_families(node: "Node") -> Iterator[Metric]:
    families = (
        *_build(),
        *_messages(node),
        *_batches(node.lanes),
        *_lanes(node.lanes),
        *_connections(node),
        *_hints(node),
        *PROCESS_COLLECTOR.collect(),
        *GC_COLLECTOR.collect(),
    )
    return (_of_node(family, node.name) for family in families)


def _of_node(family: Metric, node_name: str) -> Metric:
    family.samples = [sample._replace(labels={"node": node_name, **sample.labels}) for sample in family.samples]
    return family


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, about, value=value)


def _counter(name: str, about: str, label: str, values: Iterable[tuple[str, float]]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=[label])
    for text, value in values:
        family.add_metric([text], value)
    return family


def _build() -> Iterator[Metric]:
    build = GaugeMetricFamily("willow_build_info", "Always 1; the label tells the version.", labels=["version"])
    build.add_metric([VERSION], 1)
    yield build


def _messages(node: "Node") -> Iterator[Metric]:
    yield _counter(
        "willow_messages",
        "Messages that this process moved, by what became of them.",
        "move",
        node.engine.moves.by_name().items(),
    )
    yield _counter(
        "willow_refusals",
        "Commands that were answered with an error, by its code.",
        "code",
        sorted(node.refusals.items()),
    )
    yield _gauge(
        "willow_commands_under_way",
        "Posts that are being stored, and fetches, pops and subscriptions that wait.",
        node.engine.commands_under_way,
    )


def _batches(lanes: Iterable[Lane]) -> Iterator[Metric]:
    labels = ["lane", "kind"]
    sizes = HistogramMetricFamily("willow_batch_size", "Requests in one batch of statements.", labels=labels)
    seconds = HistogramMetricFamily(
        "willow_batch_seconds",
        "Time that PostgreSQL took for the statements of a batch, commit included.",
        labels=labels,
    )
    for lane in lanes:
        for kind, meter in lane.meters.items():
            if not meter.batches:  # a kind that this node has no use for would only be noise
                continue
            names = [lane.name, _name_of(kind)]
            _add(sizes, names, meter.sizes)
            _add(seconds, names, meter.seconds)
    yield from (sizes, seconds)


def _name_of(kind: type) -> str:
    """`keepalive_all` for a KeepaliveAllRequest."""
    words = kind.__name__.removesuffix("Request").removesuffix("Attempt")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", words).lower()


def _add(family: HistogramMetricFamily, labels: list[str], distribution: Distribution) -> None:
    family.add_metric(labels, distribution.buckets(), distribution.total)


def _lanes(lanes: Iterable[Lane]) -> Iterator[Metric]:
    waiting = GaugeMetricFamily("willow_lane_waiting", "Requests that wait for the next batch.", labels=["lane"])
    connected = GaugeMetricFamily(
        "willow_lane_connected", "Whether the lane has its connection to PostgreSQL.", labels=["lane"]
    )
    connections = CounterMetricFamily(
        "willow_lane_connections", "Connections that the lane opened, the first one included.", labels=["lane"]
    )
    failures = CounterMetricFamily(
        "willow_batch_failures", "Batches that PostgreSQL did not take, by why.", labels=["lane", "reason"]
    )
    for lane in lanes:
        waiting.add_metric([lane.name], lane.waiting)
        connected.add_metric([lane.name], lane.connected.is_set())
        connections.add_metric([lane.name], lane.connections)
        for reason, batches in sorted(lane.failures.items()):
            failures.add_metric([lane.name, reason], batches)
    yield from (waiting, connected, connections, failures)


def _connections(node: "Node") -> Iterator[Metric]:
    yield _gauge("willow_sockets", "Open WebSockets.", len(node.sessions))
    yield CounterMetricFamily(
        "willow_sockets_opened", "WebSockets that a client was let in on.", value=node.sessions.opened
    )
    unread = node.unread
    unread.look_again()
    yield _gauge("willow_unread_bytes", "What clients have not read yet of what they were sent.", unread.bytes)
    yield _gauge(
        "willow_sockets_crowded", "WebSockets not read from until their clients have read.", len(unread.crowded)
    )
    yield CounterMetricFamily(
        "willow_sockets_given_up",
        "Connections closed because their clients did not read, HTTP included.",
        value=unread.given_up,
    )
    yield _gauge("willow_incoming_bytes", "What came in over WebSockets and was not taken yet.", incoming.bytes)
    yield CounterMetricFamily(
        "willow_senders_given_up",
        "WebSockets closed because what came in was too much, and most of it theirs.",
        value=incoming.given_up,
    )
    yield _gauge("willow_workers_here", "Workers of services that are ready on this node.", node.workers.count)
    yield _gauge("willow_draining", "Whether the node is about to stop.", node.draining)
    alarms = GaugeMetricFamily("willow_alarm", "Whether the node refuses posts for want of something.", labels=["of"])
    for of in SHORT_OF:
        alarms.add_metric([of], of in node.alarms.active)
    yield alarms


def _hints(node: "Node") -> Iterator[Metric]:
    hints = node.hints
    counts = [("sent", hints.sent), ("lost", hints.lost), ("received", hints.received)]
    yield _counter("willow_hints", "Hints to and from other nodes.", "event", counts)
