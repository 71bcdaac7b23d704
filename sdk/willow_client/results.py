"""How posted messages ended, asked for later: of queues with `keep_replies`, also after the poster was restarted."""

import asyncio
import http.client
import json
import ssl as tls
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from willow_client.errors import BadArgument, Dropped, NoObject, Timeout, WillowError, broker_error
from willow_client.receipt import Receipt

if TYPE_CHECKING:
    from willow_client.connection import Connection

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0  # seconds between two looks, doubled each time
ANSWER_SECONDS = 10.0
SERVER_ERRORS = 500  # and above: the broker may know more later

MessageName = Receipt | tuple[int, int]  # or its shard and index


async def result_of(connection: "Connection", message: MessageName, seconds: float | None) -> bytes | None:
    """The reply, as soon as the message has ended."""
    shard, index = _numbers(message)
    problem = "It has not ended."
    pause = FIRST_PAUSE
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    found = await asyncio.to_thread(_ask, connection, shard, index)
                except OSError as error:
                    problem = f"The broker could not be asked: {error}."
                else:
                    if found["outcome"] is not None:
                        return _reply(found)
                    problem = "It has not ended."
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
    except TimeoutError as error:
        if isinstance(error, WillowError):
            raise
        raise Timeout(f"There is no result of message {index} in shard {shard} yet. {problem}") from None


def _numbers(message: MessageName) -> tuple[int, int]:
    if isinstance(message, Receipt):
        return message.shard, message.index
    if isinstance(message, tuple) and len(message) == 2 and all(type(part) is int for part in message):
        return message
    reason = "`message` must be a receipt of a post, or the pair of its shard and index"
    raise BadArgument("message", f"{reason}, not {message!r}.")


def _reply(found: dict[str, Any]) -> bytes | None:
    key = f"{found['shard']}/{found['index']}"
    if found["outcome"] not in ("finished", "popped"):
        why = " ".join(str(part) for part in (found["reason"], found["last_error"]) if part)
        raise Dropped("Dropped", key, f"The message was given up ({found['outcome']}): {why or 'no reason was told'}.")
    if found["reply_until"] is None:
        remedy = "Create it with keep_replies=<seconds>, and ask within that time."
        raise NoObject("NoObject", key, f"The message was {found['outcome']}, and its queue kept no reply. {remedy}")
    reply = found["reply"]
    return reply.encode() if isinstance(reply, str) else None if reply is None else bytes(reply)


def _ask(connection: "Connection", shard: int, index: int) -> dict[str, Any]:
    """Raises OSError if nothing is known now, and WillowError if the broker refuses."""
    where = urlsplit(connection.brokers.current)
    link = _open(where.scheme == "wss", where.hostname or "", where.port, connection.options.ssl)
    token = connection.options.token or next(iter(parse_qs(where.query).get("token", [])), None)
    path = where.path.rstrip("/").removesuffix("connect").rstrip("/")
    try:
        headers = {"Authorization": f"Token {token}"} if token else {}
        link.request("GET", f"{path}/api/messages/{shard}/{index}/", headers=headers)
        answer = link.getresponse()
        status, text = answer.status, answer.read()
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from error
    finally:
        link.close()
    if status >= SERVER_ERRORS:
        raise OSError(f"status {status}")
    try:
        said: dict[str, Any] = json.loads(text)
        if status == http.client.OK:
            return said
        refusal = broker_error(said["code"], said["key"], said["detail"])
    except (ValueError, KeyError, TypeError):
        raise OSError(f"no broker answered, but something else with status {status}") from None
    raise refusal


def _open(secure: bool, host: str, port: int | None, ssl: tls.SSLContext | None) -> http.client.HTTPConnection:
    if secure:
        return http.client.HTTPSConnection(host, port, timeout=ANSWER_SECONDS, context=ssl)
    return http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
