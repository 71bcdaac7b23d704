"""OpenTelemetry: a producer span for a post, and a consumer span for each attempt that links to it."""

import asyncio
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, get_current_span
from willow_client import Client, Message, sync, tracing

from tests.support.cluster import PATIENCE, Cluster


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.instrument(provider)
    yield exporter
    tracing.uninstrument()


def of_kind(exporter: InMemorySpanExporter, kind: SpanKind) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind == kind]


def links_of(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


@pytest.mark.parametrize("blocking", [False, True])
async def test_every_attempt_links_to_the_post(
    client: Client, queue: str, exported: InMemorySpanExporter, blocking: bool
) -> None:
    await client.create(queue, retry_delay=0)
    done = asyncio.Event()
    current: list[int] = []

    def work(message: Message) -> None:
        current.append(get_current_span().get_span_context().span_id)
        if message.attempt == 1:
            raise ValueError("once more")
        loop.call_soon_threadsafe(done.set)

    async def work_awaited(message: Message) -> None:
        work(message)

    loop = asyncio.get_running_loop()
    await client.post(queue, "m")
    async with client.worker(queue, work if blocking else work_awaited), asyncio.timeout(PATIENCE):
        await done.wait()
    [posted] = of_kind(exported, SpanKind.PRODUCER)
    attempts = of_kind(exported, SpanKind.CONSUMER)
    assert (posted.name, [span.name for span in attempts]) == (f"send {queue}", [f"process {queue}"] * 2)
    assert [links_of(span) for span in attempts] == [[posted.context.span_id]] * 2
    assert [span.status.status_code for span in attempts] == [StatusCode.ERROR, StatusCode.UNSET]
    assert [span.attributes["messaging.willow.attempt"] for span in attempts if span.attributes] == [1, 2]
    assert current == [span.context.span_id for span in attempts]


async def test_a_batch_is_one_span_and_the_callers_headers_stay(
    client: Client, queue: str, exported: InMemorySpanExporter
) -> None:
    await client.post_many(queue, ["a", "b"])
    mine = f"00-{'1' * 32}-{'2' * 16}-01"
    await client.post(queue, "c", headers={"traceparent": mine, "tenant": "7"})
    messages = await client.pop_many(queue, 3)
    [batch, _] = of_kind(exported, SpanKind.PRODUCER)
    assert all(f"{batch.context.span_id:016x}" in message.headers["traceparent"] for message in messages[:2])
    assert messages[2].headers == {"traceparent": mine, "tenant": "7"}


def test_the_blocking_client(broker: Cluster, queue: str, exported: InMemorySpanExporter) -> None:
    with sync.connect(broker.node.url) as willow:
        willow.post(queue, "m")
        message = willow.fetch(queue, block_timeout=PATIENCE)
        assert message is not None
        with willow.working(message):
            inside = get_current_span().get_span_context().span_id
    [posted] = of_kind(exported, SpanKind.PRODUCER)
    [attempt] = of_kind(exported, SpanKind.CONSUMER)
    assert (links_of(attempt), attempt.context.span_id) == ([posted.context.span_id], inside)


async def test_without_instrumentation_nothing_is_added(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.pop(queue)
    assert message is not None and message.headers == {}
