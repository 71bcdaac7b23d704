"""Opening a WebSocket; whatever goes wrong is a `ConnectionFailed` that says what to do about it."""

import asyncio
import ssl as tls
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
from websockets.uri import WebSocketURI, parse_uri

from willow_client.errors import ConnectionFailed, without_query
from willow_client.websocket import Received, WebSocket

OPEN_SECONDS = 10
# What answers of ports that speak no TLS look like to it.
OF_PLAIN_PORTS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")
EXAMPLE = "ws://127.0.0.1:8080/connect/"


def check_url(url: str) -> str:
    """Notice at once what no broker could make good."""
    if not isinstance(url, str):
        raise ConnectionFailed(str(url), f"A URL is a text, not {type(url).__name__}.", f"An example: {EXAMPLE}")
    scheme = urlsplit(url).scheme
    if scheme in ("http", "https"):
        meant = without_query(url).replace("http", "ws", 1)
        raise ConnectionFailed(url, "{url} is no WebSocket.", f"Did you mean {meant}?")
    try:
        parse_uri(url)
    except (InvalidURI, ValueError):
        raise ConnectionFailed(url, "{url} is no WebSocket URL.", f"An example: {EXAMPLE}") from None
    return url


async def open_websocket(
    url: str,
    query: str,
    headers: Mapping[str, str],
    *,
    received: Received,
    resumed: Callable[[], None],
    ping_interval: float,
    ssl: tls.SSLContext | None,
) -> WebSocket:
    """`query` is added to the URL, and kept out of errors."""
    uri = parse_uri(f"{url}{'&' if '?' in url else '?'}{query}" if query else url)

    def make() -> WebSocket:
        return WebSocket(uri, headers, received=received, resumed=resumed, ping_interval=ping_interval)

    try:
        async with asyncio.timeout(OPEN_SECONDS):
            return await _open(uri, make, ssl)
    except TimeoutError:
        reason = f"Nothing answered at {{url}} within {OPEN_SECONDS} seconds."
        remedy = "Is the address right, and does a firewall let you through?"
        raise ConnectionFailed(url, reason, f"{remedy} Does the port speak TLS?" if uri.secure else remedy) from None
    except tls.SSLError as error:
        if error.reason in OF_PLAIN_PORTS:
            raise ConnectionFailed(url, "The port of {url} speaks no TLS.", "Use ws:// instead of wss://.") from error
        raise ConnectionFailed(url, f"No TLS connection to {{url}}: {error}.", _TLS_REMEDY) from error
    except OSError as error:
        raise ConnectionFailed(url, f"No connection to {{url}}: {error}.", _REMEDY) from error
    except InvalidHandshake as error:
        raise ConnectionFailed(
            url, f"No broker answered at {{url}}: {error}.", _handshake_remedy(url, error)
        ) from error


_REMEDY = "Is the broker up? Are host and port right?"
_TLS_REMEDY = "Is it a TLS port, with a certificate that you trust? Use ws:// for a plain one, or pass ssl=…."


def _handshake_remedy(url: str, error: InvalidHandshake) -> str:
    if isinstance(error, InvalidStatus):
        path = urlsplit(url).path
        if not path.endswith("/"):
            return f"The path must end with a slash: {EXAMPLE}"
        return f"Is {path} the path of the broker? It is /connect/ unless a proxy puts it elsewhere."
    return "Is it a TLS port? Use wss:// then."


async def _open(uri: WebSocketURI, make: Callable[[], WebSocket], ssl: tls.SSLContext | None) -> WebSocket:
    loop = asyncio.get_running_loop()
    _, websocket = await loop.create_connection(make, uri.host, uri.port, ssl=(ssl or True) if uri.secure else None)
    try:
        await websocket.opened
    except BaseException:
        websocket.abort()
        raise
    return websocket
