"""Posts that wait for a commit: in Willow's own database by its function, elsewhere in a table of the project's."""

import json
import uuid
from typing import Any

from django.db import connections
from willow_client.arguments import check_post
from willow_client.bodies import check_size

from willow_django.models import OutboxMessage


def write_shared(
    database: str, queue: str, body: bytes, arguments: dict[str, Any], *, schema: str | None = None
) -> None:
    """`willow_post` checks its arguments, and its message names the one that is wrong."""
    values = dict(arguments)
    if "headers" in values:
        values["headers"] = json.dumps(values["headers"])
    named = "".join(f', "{name}" => %({name})s{"::jsonb" if name == "headers" else ""}' for name in values)
    connection = connections[database]
    where = "" if schema is None else f"{connection.ops.quote_name(schema)}.".replace("%", "%%")
    call = f"SELECT {where}willow_post(%(queue)s, %(body)s{named})"
    with connection.cursor() as cursor:
        cursor.execute(call, {"queue": queue, "body": body, **values})


def write_own(database: str, queue: str, body: bytes, arguments: dict[str, Any]) -> None:
    """The relay only hears later what is wrong, when nobody is there to be told: so it is said here."""
    check_post(queue, arguments)
    check_size(body)
    others = dict(arguments)
    dedupe = others.pop("dedupe", None) or f"outbox-{uuid.uuid4()}"
    OutboxMessage.objects.using(database).create(queue=queue, body=body, dedupe=dedupe, arguments=others)
