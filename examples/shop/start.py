"""Starts every process of the shop, and stops them all when one ends or on Ctrl-C."""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

FOLDER = Path(__file__).resolve().parent
WILLOW = FOLDER.parents[1] / "willow"
HERE = "ws://127.0.0.1:8080/connect/"
NIGHTLY = "shop-nightly"
PLAN = ("--queue", "shop.nightly", "--cron", "0 3 * * *", "--message", "report")
LOOK_SECONDS = 0.2
STOP_SECONDS = 30.0
PROCESSES = {
    "the website": ("runserver", "--noreload"),
    "emails and other tasks": ("willow_worker", "--queues", "default,emails", "--concurrency", "4"),
    "posts of transactions": ("willow_relay", "--poll", "0.2"),
    "packing, prices, audit and the nightly report": ("shop_background",),
}


def main() -> int:
    options = _options()
    os.environ["SHOP_WILLOW_URL"] = options.willow
    os.environ["SHOP_DATA"] = str(options.data)
    options.data.mkdir(parents=True, exist_ok=True)
    subprocess.run([*_manage("migrate"), "-v0"], check=True, cwd=FOLDER)
    subprocess.run(_manage("shop_queues"), check=True, cwd=FOLDER)
    if options.willow == HERE or options.home:
        _plan_the_nights(options.home)
    signal.signal(signal.SIGTERM, _stop)
    running = {name: _start(command, options.port) for name, command in PROCESSES.items()}
    print(f"The shop is open: http://127.0.0.1:{options.port}/ (Ctrl-C closes it)", flush=True)
    try:
        return _watch(running)
    except KeyboardInterrupt:
        return 0
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(STOP_SECONDS)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="examples/shop/run", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="of the website (8000)")
    parser.add_argument("--willow", default=HERE, help="where Willow is")
    parser.add_argument("--home", help="the home of that Willow, if it runs here with another one than ./willow up")
    parser.add_argument("--data", type=Path, default=FOLDER / "data", help="folder of the database and the emails")
    return parser.parse_args()


def _plan_the_nights(home: str | None) -> None:
    """Schedules are made by whoever runs the broker. For one on another machine, that is somebody else."""
    schedule = [str(WILLOW), "manage", *(("--home", home) if home else ()), "schedule"]
    if subprocess.run([*schedule, "show", NIGHTLY], capture_output=True).returncode != 0:
        subprocess.run([*schedule, "create", NIGHTLY, *PLAN], check=True)


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, "manage.py", *arguments]


def _start(command: tuple[str, ...], port: int) -> "subprocess.Popen[bytes]":
    address = (f"127.0.0.1:{port}",) if command[0] == "runserver" else ()
    # A session of its own: Ctrl-C reaches this program alone, which then stops the others in good order.
    return subprocess.Popen(_manage(*command, *address), cwd=FOLDER, start_new_session=True)


def _watch(running: "dict[str, subprocess.Popen[bytes]]") -> int:
    while True:
        for name, process in running.items():
            if process.poll() is not None:
                print(f"The process for {name} has ended, with status {process.returncode}.", file=sys.stderr)
                return 1
        time.sleep(LOOK_SECONDS)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
