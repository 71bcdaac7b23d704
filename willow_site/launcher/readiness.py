"""Whether a broker answers: over HTTP, and over a WebSocket."""

import base64
import http.client
import os
import socket
import ssl

from willow_site.configuration import Configuration
from willow_site.listening import http_address

PROBE_SECONDS = 5


def reachable_address(bind: str) -> str:
    """An address under which this machine reaches a server that listens on `bind`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind, bind)


def http_url(configuration: Configuration, port: int) -> str:
    return http_address(reachable_address(configuration.bind), port, encrypted=bool(configuration.tls_certificate))


def browser_url(configuration: Configuration, port: int) -> str:
    """The address at which a browser is let in: a host name that is not in ALLOWED_HOSTS gets a 400."""
    return f"{'https' if configuration.tls_certificate else 'http'}://{allowed_name(configuration)}:{port}"


def allowed_name(configuration: Configuration) -> str:
    """The listening address where ALLOWED_HOSTS has it, or else the first name there."""
    address = reachable_address(configuration.bind)
    address = f"[{address}]" if ":" in address else address
    allowed = configuration.allowed_hosts
    if not allowed or "*" in allowed or address in allowed:
        return address
    return allowed[0].removeprefix(".")  # the dot stands for the domain itself and everything below it


def answers(configuration: Configuration, port: int) -> bool:
    """Its certificate is not judged: it may be for another name than that of this machine to itself."""
    address = reachable_address(configuration.bind)
    context = ssl._create_unverified_context() if configuration.tls_certificate else None
    host = allowed_name(configuration)
    try:
        return _answers_http(address, port, host, context) and _opens_websocket(address, port, context)
    except ssl.SSLError:
        return configuration.tls_clients == "required"  # a broker that refuses us, who have no certificate, is there
    except (OSError, http.client.HTTPException):
        return False


def _answers_http(address: str, port: int, host: str, context: ssl.SSLContext | None) -> bool:
    if context is None:
        connection = http.client.HTTPConnection(address, port, timeout=PROBE_SECONDS)
    else:
        connection = http.client.HTTPSConnection(address, port, timeout=PROBE_SECONDS, context=context)
    try:
        connection.request("GET", "/admin/login/", headers={"Host": f"{host}:{port}"})
        return connection.getresponse().status < 500
    finally:
        connection.close()


def _opens_websocket(address: str, port: int, context: ssl.SSLContext | None) -> bool:
    key = base64.b64encode(os.urandom(16)).decode()
    request = (
        f"GET /connect/ HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    )
    with socket.create_connection((address, port), timeout=PROBE_SECONDS) as plain:
        connection = context.wrap_socket(plain) if context else plain
        connection.sendall(request.encode())
        return connection.makefile("rb").readline().startswith(b"HTTP/1.1 101 ")
