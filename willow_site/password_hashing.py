"""The process that hashes passwords: `python -m willow_site.password_hashing`. It imports little, and no Django."""

import hashlib
import marshal
import socket

from delivery.gateway.side_socket import answer_for_ever, receive_part, send


def ask(beside: socket.socket, digest: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """The broker's side."""
    send(beside, marshal.dumps((digest, password, salt, iterations)))
    return receive_part(beside)


def hashed(digest: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(digest, password, salt, iterations)


def answer(broker: socket.socket) -> None:
    send(broker, hashed(*marshal.loads(receive_part(broker))))


if __name__ == "__main__":
    answer_for_ever(answer)
