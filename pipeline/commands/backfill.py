"""`./willow pipeline backfill`."""

import argparse
from functools import partial

from pipeline.commands.days import add_day_arguments, run_with_spark
from pipeline.run import backfill


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_day_arguments(parser, "that is archived again")
    parser.add_argument(
        "--forget-lost",
        action="store_true",
        help="go on without archived files that are gone and whose days the journal no longer has",
    )


def main(arguments: argparse.Namespace) -> int:
    return run_with_spark(partial(backfill, forget_lost=arguments.forget_lost), arguments)
