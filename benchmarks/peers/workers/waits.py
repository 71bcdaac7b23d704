"""Where tasks write how long their messages were on the way."""

import os
import time

ADDRESS = os.environ.get("BENCH_ADDRESS", "")
_file = os.environ.get("BENCH_WAITS")


def note(body: str) -> None:
    """Messages that carry the time of their post; others are not timed."""
    if _file is not None and body[0] != "x":
        with open(_file, "a") as waits:  # noqa: PTH123 - a task's own cost must be small
            waits.write(f"{(time.time() - float(body)) * 1000}\n")
