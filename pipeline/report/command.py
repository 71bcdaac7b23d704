"""`./willow pipeline report`: writes the page. Needs facts, and no Spark."""

import argparse
import os
from datetime import date, timedelta
from pathlib import Path

from pipeline.commands.day_argument import day
from pipeline.database import Connection, connect, value
from pipeline.errors import PipelineError
from pipeline.options import options_from
from pipeline.report.figures import Period, read_figures
from pipeline.report.page import CHARTED_QUEUES, page

DEFAULT_DAYS = 7
MOST_DAYS = 366


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since", type=day, metavar="YYYY-MM-DD", help=f"the first day (UTC); {DEFAULT_DAYS} days if left out"
    )
    parser.add_argument("--until", type=day, metavar="YYYY-MM-DD", help="the last day (UTC); today if left out")
    parser.add_argument("--output", type=Path, default=Path("willow-report.html"), help="the file (%(default)s)")


def main(arguments: argparse.Namespace) -> int:
    options = options_from(os.environ)
    with connect(options.database_url) as connection:
        period = chosen_period(connection, arguments.since, arguments.until)
        figures = read_figures(connection, period, charted_queues=CHARTED_QUEUES)
    try:
        arguments.output.write_text(page(figures), encoding="utf-8")
    except OSError as error:
        raise PipelineError(
            f"{arguments.output} cannot be written: {error.strerror}.", "Choose another --output."
        ) from None
    print(f"Wrote {arguments.output}: {period.first} to {period.last}, {figures.queues.total:,} queues.")
    if not figures.queues.rows:
        print("There are no facts for these days. `./willow pipeline run` computes them from the journal.")
    return 0


def chosen_period(connection: Connection, since: date | None, until: date | None) -> Period:
    last = until or value(connection, "SELECT (now() AT TIME ZONE 'UTC')::date")
    first = since or last - timedelta(days=DEFAULT_DAYS - 1)
    if first > last:
        raise PipelineError(f"--since is {first}, which is after --until, {last}.")
    if (last - first).days >= MOST_DAYS:
        raise PipelineError(f"{first} to {last} are more than {MOST_DAYS} days.", "Choose a later --since.")
    return Period(first, last)
