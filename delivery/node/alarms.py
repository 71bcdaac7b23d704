"""What this node is short of: memory of its machine, or space on the disk of the data. Then it refuses posts."""

import logging
import os
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from psycopg import AsyncConnection

logger = logging.getLogger(__name__)

PAGE = os.sysconf("SC_PAGE_SIZE")
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
OWN_MEMORY = Path("/proc/self/statm")
# An alarm ends only when there is so much more than where it began, or it would come and go with every message.
RELIEF = 0.95


class Alarms:
    def __init__(self) -> None:
        self._memory = settings.WILLOW.memory_alarm * machine_memory()
        self._disk = settings.WILLOW.disk_alarm_bytes
        self._place = settings.WILLOW.home
        self.active: tuple[str, ...] = ()

    async def find_data(self, connection: AsyncConnection[Any]) -> None:
        """Look for the folder of the data, if PostgreSQL runs on this machine and lets us know."""
        try:
            [(folder,)] = await (await connection.execute("SHOW data_directory")).fetchall()
        except psycopg.errors.InsufficientPrivilege:
            return
        place = Path(folder)
        if _free_bytes(place) is not None:
            self._place = place

    def look(self) -> tuple[str, ...]:
        """What the node is short of now; the log tells of changes."""
        before = self.active
        self.active = tuple(
            name
            for name, is_short in (
                ("memory", self._is_short_of_memory("memory" in before)),
                ("disk", self._is_short_of_disk("disk" in before)),
            )
            if is_short
        )
        for name in self.active:
            if name not in before:
                logger.error("This node is short of %s: it refuses posts until that is over.", name)
        for name in before:
            if name not in self.active:
                logger.warning("This node is no longer short of %s.", name)
        return self.active

    def _is_short_of_memory(self, was: bool) -> bool:
        return bool(self._memory) and own_memory() > self._memory * (RELIEF if was else 1)

    def _is_short_of_disk(self, was: bool) -> bool:
        free = _free_bytes(self._place) if self._disk else None
        return free is not None and free < self._disk / (RELIEF if was else 1)


def own_memory() -> int:
    """Bytes that this process has in memory; 0 where the system does not tell (macOS)."""
    try:
        return int(OWN_MEMORY.read_text().split()[1]) * PAGE
    except OSError:
        return 0


def machine_memory() -> int:
    """Bytes that this process may have: of the machine, or of its container."""
    machine = os.sysconf("SC_PHYS_PAGES") * PAGE
    try:
        return min(machine, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # not in a container, or one without a limit
        return machine


def _free_bytes(place: Path) -> int | None:
    """None if it is not on this machine, or closed to us."""
    try:
        found = os.statvfs(place)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize
