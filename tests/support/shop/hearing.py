"""Receivers of the signals of tasks, which leave files: `<id>.<signal>` says the status of the task at that moment, and
`<id>.<signal>.handled` which exception is being handled.
"""

import os
import time
import traceback
from pathlib import Path
from typing import Any

from willow_django.tasks_api import task_enqueued, task_finished, task_started

SIGNALS = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}


def begin() -> None:
    if "SHOP_HEARS" in os.environ:
        for name, signal in SIGNALS.items():
            signal.connect(_receiver(name, Path(os.environ["SHOP_HEARS"])), weak=False)


def _receiver(name: str, folder: Path) -> Any:
    def receive(task_result: Any, **kwargs: Any) -> None:
        (folder / f"{task_result.id}.{name}.handled").write_text(traceback.format_exc())
        (folder / f"{task_result.id}.{name}").write_text(task_result.status)
        while (folder / f"{task_result.id}.{name}.hangs").exists():
            time.sleep(0.01)

    return receive
