"""What a worker is told when it asks for its configuration, and the version that stands for it."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.statements import statement as client_statement
from delivery.serving.models import DEFAULT_HEARTBEAT_INTERVAL
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement

VERSION_CHARACTERS = 16  # of the hash: enough that two versions never meet

ConfigsByService = Mapping[str, Any]  # rows of service_configs.sql


async def load_configs(connection: AsyncConnection[Any], services: Collection[str]) -> ConfigsByService:
    rows = await fetch_rows(connection, statement("service_configs"), {"service": list(services)})
    return {row.name: row for row in rows}


async def load_broker_group(connection: AsyncConnection[Any], node_id: int) -> Sequence[Any]:
    """The nodes that take clients, the one to prefer first."""
    parameters = {"lapse": settings.WILLOW.node_lapse, "node": node_id}
    return await fetch_rows(connection, client_statement("broker_group"), parameters)


def config_version(services: Iterable[str], configs: ConfigsByService) -> str:
    """A hash over the versions of the services' configurations. Row numbers are part of it: a configuration that was
    deleted and made again starts again at version 1."""
    versions = [
        [service, configs[service].id, configs[service].version] if service in configs else [service, 0, 0]
        for service in sorted(services)
    ]
    return hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:VERSION_CHARACTERS]


def config_source(services: Iterable[str], configs: ConfigsByService, broker_group: Sequence[Any]) -> dict[str, Any]:
    """The one source of a worker's configuration, whatever the format in which it is sent."""
    nodes = [{"node": node.name, "url": node.url} for node in broker_group]
    intervals = [config.heartbeat_interval for config in configs.values()]
    return {
        "services": {service: configs[service].config if service in configs else {} for service in sorted(services)},
        "heartbeat_interval": min(intervals, default=DEFAULT_HEARTBEAT_INTERVAL),
        "broker_group": nodes,
        "preferred_broker": nodes[0] if nodes else None,
    }
