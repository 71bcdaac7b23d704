"""Passwords of the console are hashed beside a broker: each takes a core for half a second, on purpose."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from delivery.gateway.side_process import SideProcess

NICENESS = 5  # messages come first, and a login on a busy machine still takes no more than some seconds

_beside: SideProcess | None = None  # none in commands, which have nothing else to do


def hash_beside() -> None:
    global _beside
    _beside = SideProcess("hashes passwords", niceness=NICENESS)


class HashedBeside(PBKDF2PasswordHasher):
    """Django's own hashes, made elsewhere."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        if _beside is None:
            return super().encode(password, salt, iterations)
        return _beside.run(PBKDF2PasswordHasher().encode, password, salt, iterations)
