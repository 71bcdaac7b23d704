"""What `run` and `backfill` have in common: days, a master, and a summary."""

import argparse
import os
from collections.abc import Callable

from pipeline.commands.day_argument import day
from pipeline.errors import PipelineError
from pipeline.options import options_from
from pipeline.progress import Progress
from pipeline.runs import Run
from pipeline.session import chosen_master, spark_session

Work = Callable[..., Run]

LOWEST_PRIORITY = 19  # niceness, where there is no idle class


def add_day_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--since", type=day, metavar="YYYY-MM-DD", help=f"the first day (UTC) {what}")
    parser.add_argument("--until", type=day, metavar="YYYY-MM-DD", help=f"the last day (UTC) {what}")
    parser.add_argument("--master", help="the Spark to run on (WILLOW_PIPELINE_MASTER), such as spark://host:7077")


def run_with_spark(work: Work, arguments: argparse.Namespace) -> int:
    if arguments.since and arguments.until and arguments.since > arguments.until:
        raise PipelineError(f"--since {arguments.since} is after --until {arguments.until}.")
    options = options_from(os.environ, master=chosen_master(arguments.master))
    progress = Progress()
    if options.is_local:
        give_way()
    progress.say(f"Starting Spark on {options.master}.")
    with spark_session(options) as spark:
        done = work(spark, options, since=arguments.since, until=arguments.until, progress=progress)
    progress.say(summary(done))
    return 0


def give_way() -> None:
    """Use what the processors have left: the broker may be on the same machine, and is more urgent."""
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except (AttributeError, OSError):  # not Linux, or not allowed
        os.nice(LOWEST_PRIORITY)


def summary(done: Run) -> str:
    sentences = [
        f"Archived {done.rows:,} rows.",
        f"Computed {done.facts:,} facts of {len(done.days)} days.",
        f"Compared {len(done.verified)} days with the journal.",
    ]
    if done.compacted:
        sentences.append(f"Compacted {len(done.compacted)} days.")
    sentences.append(f"The health report has {done.findings} findings.")
    sentences += [f"{count:,} rows: {fault}." for fault, count in sorted(done.faults.items())]
    return "\n".join(sentences)
