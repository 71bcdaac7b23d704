"""A WebSocket over a plain TCP socket, for clients that do what no library does: such as never to read."""

import json
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

from tests.support.cluster import PATIENCE

TEXT, BINARY, PING, FINAL = 0x1, 0x2, 0x9, 0x80
NO_MASK = bytes(4)  # masked, as the standard demands, with zeros
SMALL_BUFFER = 4096  # bytes that the system takes for a client that does not read


class RawWebSocket:
    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        parts = urlsplit(url)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        self.socket.settimeout(PATIENCE)
        self._unsent = b""
        self.socket.connect((parts.hostname or "", parts.port or 0))
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        fields = {
            "Host": parts.netloc,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            **(headers or {}),
        }
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(1)
        assert answer.startswith(b"HTTP/1.1 101"), answer

    def send(self, *commands: dict[str, Any]) -> None:
        text = json.dumps(commands[0] if len(commands) == 1 else commands)
        self.socket.sendall(frame(text.encode()))

    def try_to_send(self, data: bytes) -> bool:
        """Send as much as the connection takes at once, or what it has not taken of the last. False if it has ended.

        Half a frame must not be followed by the beginning of another.
        """
        self.socket.setblocking(False)
        data = self._unsent or data
        try:
            self._unsent = data[self.socket.send(data) :]
        except BlockingIOError:
            pass
        except OSError:
            return False
        finally:
            self.socket.settimeout(PATIENCE)
        return True

    def has_ended(self) -> bool:
        """Whether the broker has ended the connection, which is seen without reading what it sent before."""
        state = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return state != TCP_ESTABLISHED

    def close(self) -> None:
        self.socket.close()


TCP_ESTABLISHED = 1


def frame(payload: bytes, *, opcode: int = TEXT, final: bool = True) -> bytes:
    first = (FINAL if final else 0) | opcode
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 65_536:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + NO_MASK + payload
