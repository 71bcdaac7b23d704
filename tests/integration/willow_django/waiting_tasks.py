"""Tasks that wait for a file, so that a test decides when they end."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.integration.willow_django.conftest import Project

ENQUEUE = """
from tests.support.shop import jobs
print(json.dumps([jobs.{task}.using(queue_name={queue!r}).enqueue({go!r}).id for _ in range({number})]))
"""


class WaitingTasks:
    def __init__(self, folder: Path) -> None:
        self._go = folder / "go"

    @property
    def begun(self) -> int:
        """Attempts that ever began."""
        return len(list(self._go.parent.glob(f"{self._go.name}.*.begun")))

    def end(self) -> None:
        self._go.touch()

    def enqueue(
        self, project: "Project", number: int, task: str = "until_there_is", queue: str = "default"
    ) -> list[str]:
        """Returns their ids."""
        ids: list[str] = project.python(ENQUEUE.format(task=task, queue=queue, go=str(self._go), number=number))
        return ids
