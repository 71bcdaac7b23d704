"""The configuration that the broker gives to a worker of services, and what follows from it."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("willow_client")

DEFAULT_HEARTBEAT_SECONDS = 5.0  # until the configuration says otherwise


class ServiceConfig:
    def __init__(self, on_change: Callable[[dict[str, Any]], None] | None) -> None:
        self.content: dict[str, Any] = {}  # as the broker sent it: services, heartbeat_interval, broker_group, …
        self.version = ""
        self._on_change = on_change

    def change(self, content: str) -> None:
        """What the caller does with it must not end the connection, nor the worker."""
        self.content = json.loads(content)
        if self._on_change is not None:
            try:
                self._on_change(self.content)
            except Exception:
                logger.exception("A change of the configuration was not taken")

    def of_service(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.content.get("services", {}).get(name, {})
        return found

    @property
    def broker_urls(self) -> list[str]:
        return [node["url"] for node in self.content["broker_group"]]

    @property
    def heartbeat_interval(self) -> float:
        return float(self.content.get("heartbeat_interval", DEFAULT_HEARTBEAT_SECONDS))

    def stamp(self) -> dict[str, Any]:
        """What every word of a worker carries."""
        return {"time": time.time(), "config_version": self.version}
