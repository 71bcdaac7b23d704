"""Passwords of the console are hashed beside a broker: each takes a core for half a second, on purpose."""

import base64
import logging
import threading

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.utils.encoding import force_bytes

from delivery.gateway.side_process import SideProcess
from willow_site import password_hashing

logger = logging.getLogger(__name__)


class Hashing:
    """One password at a time. If the process is killed, a password is hashed here, and the next gets a new one."""

    def __init__(self) -> None:
        self._process = SideProcess(password_hashing.__name__)
        self._turn = threading.Lock()

    def hashed(self, digest: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        with self._turn:
            try:
                return password_hashing.ask(self._process.connection(), digest, password, salt, iterations)
            except (OSError, EOFError):
                logger.warning("The process that hashes passwords has ended. Another one will be started.")
                self.end()
        return password_hashing.hashed(digest, password, salt, iterations)

    @property
    def process_number(self) -> int | None:
        return self._process.number

    def end(self) -> None:
        self._process.end()


_beside: Hashing | None = None  # none in commands, which have nothing else to do


def hash_beside() -> None:
    global _beside
    _beside = Hashing()


class HashedBeside(PBKDF2PasswordHasher):
    """Django's own hashes, made elsewhere."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        if _beside is None:
            return super().encode(password, salt, iterations)
        self._check_encode_args(password, salt)  # type: ignore[attr-defined]
        times = iterations or self.iterations
        made = _beside.hashed(self.digest().name, force_bytes(password), force_bytes(salt), times)
        return f"{self.algorithm}${times}${salt}${base64.b64encode(made).decode()}"
