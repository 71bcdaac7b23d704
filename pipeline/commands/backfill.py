"""`./willow pipeline backfill`."""

import argparse

from pipeline.commands.days import add_day_arguments, run_with_spark
from pipeline.run import backfill


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_day_arguments(parser, "that is archived again")


def main(arguments: argparse.Namespace) -> int:
    return run_with_spark(backfill, arguments)
