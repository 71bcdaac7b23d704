"""`./willow pipeline run`."""

import argparse

from pipeline.commands.days import add_day_arguments, run_with_spark
from pipeline.run import run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_day_arguments(parser, "whose facts are computed again, whether or not its rows changed")


def main(arguments: argparse.Namespace) -> int:
    return run_with_spark(run, arguments)
