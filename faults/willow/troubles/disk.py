"""A disk that is full. PostgreSQL's data must be on a small file system of their own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from faults.willow.cluster import POSTGRES
from faults.willow.troubles import Scene, Trouble

SIZE_MEGABYTES = 3_000  # for the log, and room to copy what a replica begins with
BYTES_OF_MESSAGE = 1_000  # in the journal and its indexes, twice
CHUNK = b"x" * 1_048_576


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
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(CHUNK):
            pass
    yield
    ballast.unlink()
    scene.cluster.postgres.start()


FULL_DISK = Trouble("a full disk", "storage", full_disk, (3, 6), crashes_storage=True)
DISK_TROUBLES = (FULL_DISK,) if can_mount() else ()
