"""Changes of services' configurations. A ValidationError says in one sentence what cannot be done, and why."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from delivery.moves.service_names import LONGEST_NAME
from delivery.operating.audit import Operator, audit
from delivery.serving.config_text import READERS, read_config, write_config
from delivery.serving.models import ServiceConfig, ServiceConfigVersion
from delivery.wakeups.from_outside import tell_nodes
from delivery.wakeups.hints import Hint
from queues.definitions import is_name

MOST_BYTES = 256 * 1024  # of a configuration, as JSON
MOST_LEVELS = 32
# Below, workers would do little else than ping; above, nobody would notice that one is dead. `ready` takes both.
SHORTEST_HEARTBEAT_INTERVAL = 0.1  # seconds
LONGEST_HEARTBEAT_INTERVAL = 86_400.0  # seconds
# What XML 1.0 cannot hold; PostgreSQL refuses some of it too.
UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def service_config_change(*, name: str, config: Any, heartbeat_interval: float, by: Operator) -> ServiceConfig:
    """Configure a service, as a new version. Nothing happens if that is how it is configured already."""
    _check_name(name)
    check_config(config)
    check_heartbeat_interval(heartbeat_interval)
    with transaction.atomic():
        service, is_new = ServiceConfig.objects.select_for_update().get_or_create(
            name=name, defaults={"config": config, "heartbeat_interval": heartbeat_interval}
        )
        if not is_new:
            if _same(service.config, config) and service.heartbeat_interval == heartbeat_interval:
                return service
            service.version += 1
        _store(service, config, heartbeat_interval, by)
        _audit("configure service", service, by)
    return service


def service_config_restore(*, version: ServiceConfigVersion, by: Operator) -> ServiceConfig:
    """An old version comes back as the newest one: nothing of the history is lost."""
    with transaction.atomic():
        service = ServiceConfig.objects.select_for_update().get(pk=version.service_id)
        if service.version == version.version:
            raise ValidationError(f"Version {version.version} of {service} is the current one.")
        service.version += 1
        _store(service, version.config, version.heartbeat_interval, by, restored_from=version.version)
        _audit("restore configuration of service", service, by, restored_from=version.version)
    return service


def service_config_delete(*, service: ServiceConfig, by: Operator) -> None:
    """With its history. Its workers are told that there is nothing configured any more."""
    with transaction.atomic():
        _audit("delete configuration of service", service, by)
        service.delete()
        transaction.on_commit(_tell_nodes)


def _store(
    service: ServiceConfig,
    config: Any,
    heartbeat_interval: float,
    by: Operator,
    restored_from: int | None = None,
) -> None:
    service.config = config
    service.heartbeat_interval = heartbeat_interval
    service.save()
    ServiceConfigVersion.objects.create(
        service=service,
        version=service.version,
        heartbeat_interval=heartbeat_interval,
        config=config,
        restored_from=restored_from,
        changed_by_id=by.user_id,
    )
    transaction.on_commit(_tell_nodes)


def _audit(action: str, service: ServiceConfig, by: Operator, **details: int) -> None:
    audit(by=by, action=action, target=service.name, details={"version": service.version, **details})


def _tell_nodes() -> None:
    tell_nodes(Hint(configs=True))


def _check_name(name: str) -> None:
    if not is_name(name) or len(name) > LONGEST_NAME:
        raise ValidationError(f"A service's name is 1 to {LONGEST_NAME} printable ASCII characters, not {name!r}.")


def check_heartbeat_interval(seconds: float) -> None:
    if not SHORTEST_HEARTBEAT_INTERVAL <= seconds <= LONGEST_HEARTBEAT_INTERVAL:  # also refuses NaN
        bounds = f"{SHORTEST_HEARTBEAT_INTERVAL:g} to {LONGEST_HEARTBEAT_INTERVAL:.0f}"
        raise ValidationError(f"A heartbeat interval is a number of seconds from {bounds}, not {seconds:g}.")


def check_config(config: Any) -> None:
    """Refuse what cannot be told in each of the formats that workers may ask for."""
    if not isinstance(config, dict):
        raise ValidationError("A configuration must be a JSON object.")
    for level, value in _values(config, 1):
        if level > MOST_LEVELS:
            raise ValidationError(f"A configuration may be nested {MOST_LEVELS} levels deep, no deeper.")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValidationError(f"{value} is not a number that JSON knows.")
        if isinstance(value, str) and UNSPEAKABLE.search(value):
            raise ValidationError(f"The text {value!r} has a character that XML cannot hold.")
    if len(json.dumps(config).encode()) > MOST_BYTES:
        raise ValidationError(f"A configuration may have at most {MOST_BYTES} bytes.")
    for config_type in READERS:
        if not _same(read_config(config_type, write_config(config_type, config)), config):
            raise ValidationError(f"This configuration cannot be written as {config_type}.")


def _values(value: Any, level: int) -> Iterator[tuple[int, Any]]:
    """Every value, and every name, with the level at which it is."""
    yield level, value
    if level > MOST_LEVELS:
        return
    if isinstance(value, dict):
        for name, held in value.items():
            yield level, name
            yield from _values(held, level + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, level + 1)


def _same(one: Any, other: Any) -> bool:
    """As JSON tells values apart: 1, 1.0 and true are equal in Python."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
