"""`post` and `apost`: into the outbox within a transaction, to the broker otherwise."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from asgiref.sync import sync_to_async
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connections, transaction

from willow_django.conf import Outbox, WillowSettings, willow_settings
from willow_django.connections import blocking_client, client_of_this_loop
from willow_django.outbox import write_own, write_shared

Body = bytes | str | Mapping[str, Any] | list[Any]


class PostArguments(TypedDict, total=False):
    tags: Iterable[str]
    priority: int
    delay: float | None
    ttl: float | None
    key: str | None
    dedupe: str | None
    headers: Mapping[str, str] | None
    group: str | None
    unique: str | None


@dataclass(frozen=True)
class Posted:
    """Where a post went. Within a transaction that is known only after the commit."""

    queue: str
    in_outbox: bool
    shard: int | None = field(default=None)
    index: int | None = field(default=None)


def post(queue: str, body: Body, **how: Unpack[PostArguments]) -> Posted:
    """Post a message: with the commit of the transaction that is open, or at once.

    A body that is no text and no bytes is written as JSON. Outside of a transaction this returns when the message is on
    the broker's disk, and raises `willow_client.WillowError` if it is refused.
    """
    settings = willow_settings()
    data, arguments = as_bytes(body), given(how)
    if _is_in_transaction(settings.database):
        _into_outbox(settings, queue, data, arguments)
        return Posted(queue, in_outbox=True)
    receipt = blocking_client().post(queue, data, **arguments)
    return Posted(queue, in_outbox=False, shard=receipt.shard, index=receipt.index)


async def apost(queue: str, body: Body, **how: Unpack[PostArguments]) -> Posted:
    """The same, awaited. Django's transactions belong to a thread: in it, this writes to the outbox as `post` does."""
    settings = willow_settings()
    data, arguments = as_bytes(body), given(how)
    if await sync_to_async(_wrote_to_outbox, thread_sensitive=True)(settings, queue, data, arguments):
        return Posted(queue, in_outbox=True)
    client = await client_of_this_loop()
    receipt = await client.post(queue, data, **arguments)
    return Posted(queue, in_outbox=False, shard=receipt.shard, index=receipt.index)


def outbox_now() -> Outbox | None:
    """Where a post would wait for the commit, if there is a transaction now."""
    settings = willow_settings()
    return settings.outbox if _is_in_transaction(settings.database) else None


def _wrote_to_outbox(settings: WillowSettings, queue: str, data: bytes, arguments: dict[str, Any]) -> bool:
    if not _is_in_transaction(settings.database):
        return False
    _into_outbox(settings, queue, data, arguments)
    return True


def _is_in_transaction(database: str) -> bool:
    """Also without `atomic`, where the project has turned autocommit off."""
    connection = connections[database]
    if connection.in_atomic_block:
        return True
    autocommits = connection.settings_dict["AUTOCOMMIT"] if connection.connection is None else connection.autocommit
    return not autocommits


def _into_outbox(settings: WillowSettings, queue: str, data: bytes, arguments: dict[str, Any]) -> None:
    with transaction.atomic(using=settings.database):  # a refusal ends nothing but this call
        if settings.outbox == "shared":
            write_shared(settings.database, queue, data, arguments, schema=settings.schema)
        else:
            write_own(settings.database, queue, data, arguments)


def as_bytes(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return json.dumps(body, cls=DjangoJSONEncoder).encode()


def given(how: PostArguments) -> dict[str, Any]:
    """Without what says nothing, and with lists for what JSON keeps as lists."""
    unknown = sorted(how.keys() - PostArguments.__annotations__.keys())
    if unknown:
        known = ", ".join(PostArguments.__annotations__)
        raise TypeError(f"post() takes no argument {unknown[0]!r}. There are: {known}.")
    arguments: dict[str, Any] = {name: value for name, value in how.items() if value is not None}
    if "tags" in arguments:
        if isinstance(arguments["tags"], str):
            raise TypeError(f"`tags` must be a list of texts, not the text {arguments['tags']!r}.")
        arguments["tags"] = list(arguments["tags"])
    if "headers" in arguments:
        if not isinstance(arguments["headers"], Mapping):
            raise TypeError(f"`headers` must be a dictionary of texts, not {arguments['headers']!r}.")
        arguments["headers"] = dict(arguments["headers"])
    return arguments
