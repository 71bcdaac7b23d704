"""`./willow pipeline follow`."""

import argparse
import os
import signal
import threading
from dataclasses import replace

from pipeline.commands.days import give_way
from pipeline.errors import PipelineError
from pipeline.following import Pace, follow
from pipeline.options import options_from
from pipeline.progress import Progress
from pipeline.session import chosen_master, spark_session

DEFAULT_SECONDS = 15.0
DEFAULT_MINUTES = 10.0
FOR_LONG = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}  # the one that takes least from others, over time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--every",
        type=float,
        default=DEFAULT_SECONDS,
        metavar="SECONDS",
        help="how often the newest minutes are computed (15)",
    )
    parser.add_argument("--master", help="the Spark to run on (WILLOW_PIPELINE_MASTER), such as spark://host:7077")


def main(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.every <= 3600:
        raise PipelineError(f"--every is {arguments.every:g}, but it must be from 1 to 3600 seconds.")
    options = replace(options_from(os.environ, master=chosen_master(arguments.master)), spark=FOR_LONG)
    stopping = threading.Event()
    if options.is_local:
        give_way()
    progress = Progress()
    progress.say(f"Starting Spark on {options.master}.")
    with spark_session(options) as spark:
        for number in (signal.SIGTERM, signal.SIGINT):  # what is under way is finished first
            signal.signal(number, lambda *_: stopping.set())
        follow(
            spark,
            options,
            pace=Pace(step=arguments.every, round=_minutes() * 60),
            stopping=stopping,
            progress=progress,
        )
    return 0


def _minutes() -> float:
    """As often as the schedule would run: hours, days and findings follow at that pace."""
    return float(os.environ.get("WILLOW_PIPELINE_MINUTES") or DEFAULT_MINUTES)
