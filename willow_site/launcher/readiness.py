"""Whether a broker answers: over HTTP, and over a WebSocket."""

import base64
import http.client
import os
import socket

PROBE_SECONDS = 5


def reachable_address(bind: str) -> str:
    """An address under which this machine reaches a server that listens on `bind`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind, bind)


def http_url(bind: str, port: int) -> str:
    address = reachable_address(bind)
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def answers(bind: str, port: int) -> bool:
    try:
        return _answers_http(reachable_address(bind), port) and _opens_websocket(reachable_address(bind), port)
    except (OSError, http.client.HTTPException):
        return False


def _answers_http(address: str, port: int) -> bool:
    connection = http.client.HTTPConnection(address, port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", "/admin/login/")
        # Below 500: an address missing from ALLOWED_HOSTS gets a 400, and the server is up all the same.
        return connection.getresponse().status < 500
    finally:
        connection.close()


def _opens_websocket(address: str, port: int) -> bool:
    key = base64.b64encode(os.urandom(16)).decode()
    request = (
        f"GET /connect/ HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    )
    with socket.create_connection((address, port), timeout=PROBE_SECONDS) as connection:
        connection.sendall(request.encode())
        return connection.makefile("rb").readline().startswith(b"HTTP/1.1 101 ")
