"""`./willow pipeline erase`."""

import argparse
import os
from datetime import UTC, date, datetime

from pipeline.commands.day_argument import day
from pipeline.commands.days import give_way
from pipeline.erasing.command import Selection, erase
from pipeline.errors import PipelineError
from pipeline.options import options_from
from pipeline.progress import Progress
from pipeline.session import chosen_master, spark_session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--message", metavar="QUEUE/INDEX", help="of one message, by its queue's name and its index")
    whose.add_argument("--client", metavar="NAME", help="of all messages that this client had")
    whose.add_argument(
        "--before", type=day, metavar="YYYY-MM-DD", help="of all messages that ended before this day (UTC)"
    )
    parser.add_argument("--tags", help="with --message: the queue's tags, with commas between them; '' for none")
    parser.add_argument("--master", help="the Spark to run on (WILLOW_PIPELINE_MASTER), such as spark://host:7077")


def main(arguments: argparse.Namespace) -> int:
    selection = _selection(arguments)
    options = options_from(os.environ, master=chosen_master(arguments.master))
    if options.is_local:
        give_way()
    progress = Progress()
    progress.say(f"Starting Spark on {options.master}.")
    with spark_session(options) as spark:
        before, after = erase(spark, options, selection, progress=progress)
    for place, count in before.items():
        progress.say(f"{place}: {count:,} before, {after[place]:,} after")
    return 0


def _past(before: date) -> date:
    """Of a day that is not over, new rows would come for as long as the erasure looks whether any are left."""
    today = datetime.now(UTC).date()
    if before > today:
        raise PipelineError(
            f"--before is {before}, which is in the future (UTC).", f"All that ended before today is --before {today}."
        )
    return before


def _selection(arguments: argparse.Namespace) -> Selection:
    if arguments.tags is not None and arguments.message is None:
        raise PipelineError("--tags goes with --message only.")
    if arguments.client is not None:
        if not arguments.client:
            raise PipelineError("--client is empty, but it must be the name of a client.")
        return Selection(client=arguments.client)
    if arguments.before is not None:
        return Selection(before=_past(arguments.before))
    queue, slash, index = arguments.message.rpartition("/")
    if not queue or not slash or not index.isdecimal():
        raise PipelineError(
            f"--message is {arguments.message!r}, but it must be a queue and an index, such as orders/17."
        )
    tags = None if arguments.tags is None else tuple(sorted(filter(None, arguments.tags.split(","))))
    return Selection(queue=queue, index=int(index), tags=tags)
