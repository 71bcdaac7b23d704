"""Locks by which processes of this machine agree about a folder.

They are locks of the system on files, so they are gone when their process dies, however it dies.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive_lock(file: Path) -> Iterator[None]:
    """Wait until no other process is inside."""
    descriptor = open_lock(file)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class UsersLock:
    """Shared by everyone who uses a thing, so that the last one to leave knows it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    @property
    def joined(self) -> bool:
        return self._descriptor is not None

    def join(self) -> None:
        if self._descriptor is None:
            self._descriptor = open_lock(self._file)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def leave(self) -> bool:
        """Whether nobody is left."""
        if self._descriptor is None:
            return False
        try:
            return take_lock(self._descriptor)
        finally:
            os.close(self._descriptor)
            self._descriptor = None


def open_lock(file: Path) -> int:
    return os.open(file, os.O_CREAT | os.O_RDWR, 0o600)


def take_lock(descriptor: int) -> bool:
    """Whether the open lock is ours alone now; it does not wait."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
