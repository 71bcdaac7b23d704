"""Ports on 127.0.0.1 for embedded servers."""

import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"


def remembered_port(file: Path) -> int:
    """The port of last time, so that the server's address stays the same, or another if that one is taken."""
    last_time = int(file.read_text()) if file.exists() else 0
    port = _bindable(last_time) or _bindable(0)
    file.write_text(f"{port}\n")
    return port


def _bindable(port: int) -> int:
    """The port if it can be bound (any free one for 0), else 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return 0
        return int(probe.getsockname()[1])
