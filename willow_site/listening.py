"""The socket on which the broker listens."""

import errno
import socket


class PortTakenError(Exception):
    """The address cannot be used; the message is one sentence for the person who starts Willow."""


def bound_socket(bind: str, port: int, *, shared: bool) -> socket.socket:
    """A TCP socket bound to the address; `shared` lets several processes of one node bind the same."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    unused = socket.socket(family, socket.SOCK_STREAM)
    unused.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        unused.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        unused.bind((bind, port))
    except OSError as error:
        unused.close()
        raise PortTakenError(_sentence(bind, port, error)) from None
    return unused


def http_address(bind: str, port: int, *, encrypted: bool = False) -> str:
    scheme = "https" if encrypted else "http"
    return f"{scheme}://[{bind}]:{port}" if ":" in bind else f"{scheme}://{bind}:{port}"


def _sentence(bind: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {bind} is taken by another program; choose one with --port or WILLOW_PORT."
    return f"Willow cannot listen on port {port} of {bind}: {error.strerror}."
