"""A disk that is full. PostgreSQL's data must be on a small file system of their own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.willow.cluster import POSTGRES
from faults.willow.troubles import Scene, Trouble

SIZE_MEGABYTES = 3_000  # for the log, and room to copy what a replica begins with
BYTES_OF_MESSAGE = 1_000  # in the journal and its indexes, twice
SMALLEST = 4096  # bytes that a file system in memory gives at once


def can_mount() -> bool:
    """Root may, unless a container forbids it: then the mount says so."""
    return os.geteuid() == 0


@contextmanager
def small_disk(folder: Path, messages: int) -> Iterator[None]:
    """A file system in memory that has room for so many messages."""
    folder.mkdir()
    size = f"{SIZE_MEGABYTES + messages * BYTES_OF_MESSAGE // 1_000_000}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


@contextmanager
def full_disk(scene: Scene) -> Iterator[None]:
    """Not a byte is left. PostgreSQL may stop over it, and is started again when there is room."""
    ballast = scene.cluster.folder / POSTGRES / "ballast"
    with ballast.open("wb") as file:
        _take_all(file.fileno())
    yield
    ballast.unlink()
    scene.cluster.postgres.start()


def _take_all(file: int) -> None:
    """In few calls: written bit by bit, it took minutes beside the thread that carries the cluster's traffic."""
    room = os.fstatvfs(file)
    taken, piece = 0, room.f_bavail * room.f_frsize
    while piece >= SMALLEST:
        try:
            os.posix_fallocate(file, taken, piece)
            taken += piece
        except OSError:  # less is left
            piece //= 2


FULL_DISK = Trouble("a full disk", "storage", full_disk, (3, 6), crashes_storage=True)
DISK_TROUBLES = (FULL_DISK,) if can_mount() else ()
