"""Workers and frontends of services, written from the protocol alone."""

import json
import time
from collections.abc import Iterable
from typing import Any

from tests.support.client import Client, Fields
from tests.support.cluster import Cluster


class Worker:
    """A client that serves."""

    def __init__(self, client: Client, services: Iterable[str], identity: str = "worker") -> None:
        self.client = client
        self.services = list(services)
        self.identity = identity
        self.version = ""

    async def say_check_config(self, config_type: str = "JSON", **fields: Any) -> None:
        """Without waiting for an answer."""
        await self.client.send(
            {
                "type": "checkconfig",
                "config_type": config_type,
                "identity": self.identity,
                "services": self.services,
                **fields,
            }
        )

    async def check_config(self, config_type: str = "JSON", **fields: Any) -> Fields:
        """Negotiate, and keep the version. Returns the `config` frame."""
        await self.say_check_config(config_type, **fields)
        config = await self.client.expect(None, type="config", config_type=config_type)
        self.version = config["config_version"]
        return config

    async def say_ready(self, **fields: Any) -> None:
        """Without waiting for an answer."""
        ready = {"services": self.services, "heartbeat_interval": 60, **self.stamp()}
        await self.client.send({"type": "ready", **ready, **fields})

    async def ready(self, **fields: Any) -> None:
        await self.say_ready(**fields)
        await self.client.expect(None, type="readyok", config_version=self.version)

    async def request(self, **fields: Any) -> Fields:
        """The next frame but pings, which must be a request."""
        while (frame := await self.client.next(None))["type"] == "ping":
            pass
        expected = {"type": "workrequest", **fields}
        assert {name: frame.get(name) for name in expected} == expected, frame
        return frame

    async def reply(self, request: Fields, body: str) -> None:
        await self.client.send(
            {
                "type": "workreply",
                "work_request_identifier": request["work_request_identifier"],
                "body": body,
                **self.stamp(),
            }
        )

    async def error(self, request: Fields, text: str, **fields: Any) -> None:
        identifier = {"work_request_identifier": request["work_request_identifier"]}
        await self.client.send({"type": "workerror", **identifier, "error": text, **self.stamp(), **fields})

    async def ping(self, **fields: Any) -> None:
        await self.client.send({"type": "ping", **self.stamp(), **fields})

    def stamp(self) -> Fields:
        return {"time": time.time(), "config_version": self.version}


async def working(client: Client, *services: str, identity: str = "worker", **ready: Any) -> Worker:
    """A worker that stands in the line."""
    worker = Worker(client, services, identity)
    await worker.check_config()
    await worker.ready(**ready)
    return worker


async def begin_request(frontend: Client, service: str, body: str, **fields: Any) -> int:
    """Ask, and return the label of the answer."""
    label = frontend.label()
    await frontend.send({"type": "workrequest", "service": service, "body": body, "label": label, **fields})
    return label


def end_claims(cluster: Cluster, service: str) -> None:
    """Let the time of all requests be over that workers hold; who gets them next has the usual time again."""
    cluster.query(
        "UPDATE delivery_message SET lease_until = now() WHERE lease_until IS NOT NULL"
        " AND queue_id = (SELECT id FROM queues_queue WHERE name = %s)",
        f"service:{service}",
    )


def configure(cluster: Cluster, service: str, config: dict[str, Any], heartbeat_interval: float = 5) -> None:
    """As the admin does it, but for the hint."""
    cluster.query(
        "INSERT INTO delivery_serviceconfig AS known (name, config, heartbeat_interval, version) VALUES (%s, %s, %s, 1)"
        " ON CONFLICT (name) DO UPDATE SET config = EXCLUDED.config, version = known.version + 1",
        service,
        json.dumps(config),
        heartbeat_interval,
    )
