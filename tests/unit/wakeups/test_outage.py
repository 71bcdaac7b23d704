"""A Redis that is gone is reported once, and once more when it is back."""

import asyncio
from typing import Any

import pytest

from delivery.wakeups import hints as hints_module
from delivery.wakeups.hints import Hints
from delivery.wakeups.outage import Outage


class Layer:
    """A channel layer whose first sends fail."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.sent = asyncio.Event()

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("nobody there")
        self.sent.set()


async def test_it_is_said_once_and_again_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outage, layer = Outage(), Layer(failures=3)
    monkeypatch.setattr(hints_module, "redis_outage", outage)
    monkeypatch.setattr(hints_module, "RETRY_SECONDS", 0.01)
    hints = Hints(node_id=1, listener=None)
    hints._layer = layer  # type: ignore[assignment]
    caplog.set_level("INFO", logger="delivery.wakeups.outage")
    hints.messages_ready(7, 1)  # nothing else happens afterwards: it finds out by itself that Redis is back
    publisher = asyncio.create_task(hints.publish())
    await asyncio.wait_for(layer.sent.wait(), 60)
    while outage.lasts:
        await asyncio.sleep(0)
    publisher.cancel()
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "Redis cannot be used, so messages may arrive up to a poll interval later: nobody there",
        "Redis can be used again.",
    ]
