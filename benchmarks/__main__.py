"""`python -m benchmarks`: runs the scenarios, prints a table and keeps the numbers."""

import argparse
import dataclasses
import importlib.util
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks import report
from benchmarks.client.comparison import compare_clients
from benchmarks.django.comparison import measure_django
from benchmarks.figures import Figure
from benchmarks.neighbours.attacks import ATTACKS
from benchmarks.neighbours.measuring import meet_neighbours
from benchmarks.peers.comparison import PEERS, compare
from benchmarks.peers.environment import find_installed_clients
from benchmarks.price.comparison import compare_prices
from benchmarks.profiling import Profile
from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.scenarios import SCENARIOS
from benchmarks.stage import Stage, stage
from benchmarks.sweep.growth import GROWTHS
from benchmarks.sweep.sweep import sweep

BEFORE_THE_PRICE_WAS_CUT = "0b77f66"


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    scale = QUICK if options.quick else FULL
    if options.runs:
        scale = dataclasses.replace(scale, runs=options.runs)
    if options.rows:
        scale = dataclasses.replace(scale, day_sizes=tuple(options.rows))
    measure = MEASUREMENTS[options.what]
    figures = measure(scale, options)
    report.write_json(figures, options.json or report.default_file(options.what))
    return 1 if any(figure.passed is False for figure in figures) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./willow bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=MEASUREMENTS, default="willow")
    parser.add_argument("--quick", action="store_true", help="everything small, in a few minutes")
    parser.add_argument("--runs", "--rounds", type=int, metavar="N", help="of which the medians are taken")
    parser.add_argument(
        "--only", metavar="NAME,…", help="only these scenarios, peers, attacks, parts or things that grow"
    )
    parser.add_argument(
        "--rows", type=int, nargs="+", metavar="N", help="sizes of the days for `pipeline --only growth`"
    )
    parser.add_argument("--against", metavar="REVISION", default=BEFORE_THE_PRICE_WAS_CUT, help="for `price`")
    parser.add_argument("--profile", action="store_true", help="show where the broker's CPU time goes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the numbers go")
    return parser


def _chosen(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Those that `--only` names, or all; in their own order."""
    known = list(names)
    wanted = options.only.split(",") if options.only else known
    if unknown := [name for name in wanted if name not in known]:
        sys.exit(f"--only: there is no {unknown[0]}; there are {', '.join(known)}.")
    return [name for name in known if name in wanted]


def _price(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    figures = compare_prices(scale, options.against)
    report.print_heading()
    report.print_figures(figures)
    return figures


def _sweep(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    return sweep(scale, _chosen(options, [growth.name for growth in GROWTHS]))


def _neighbours(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    return meet_neighbours(scale, _chosen(options, ATTACKS))


def _peers(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    return compare(scale, _chosen(options, PEERS))


def _client(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    return compare_clients(scale)


def _django(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    return measure_django(scale)


def _pipeline(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    if importlib.util.find_spec("pyspark") is None:
        sys.exit("PySpark is not installed. `./willow pipeline status` installs it, once.")
    from benchmarks.pipeline import PARTS, measure_pipeline  # here, because the other benchmarks do without Spark

    return measure_pipeline(scale, _chosen(options, PARTS))


def _scenarios(scale: Scale, options: argparse.Namespace) -> list[Figure]:
    names = _chosen(options, [scenario.NAME for scenario in SCENARIOS])
    chosen = [scenario for scenario in SCENARIOS if scenario.NAME in names]
    figures: list[Figure] = []
    find_installed_clients()  # of the peers that one of the scenarios looks at
    report.print_heading()
    with stage() as prepared:
        for scenario in chosen:
            profile = Profile() if options.profile else None
            prepared.begin_scenario(profile)
            found = scenario.run(prepared, scale)
            report.print_figures(found)
            if profile is not None:
                profile.print()
            figures += found
            _show_complaints(prepared)
    return figures


def _show_complaints(prepared: Stage) -> None:
    if log := prepared.broker.log():
        print(f"The broker logged:\n{log}", file=sys.stderr)


MEASUREMENTS = {
    "willow": _scenarios,
    "price": _price,
    "sweep": _sweep,
    "neighbours": _neighbours,
    "peers": _peers,
    "client": _client,
    "django": _django,
    "pipeline": _pipeline,
}


def _stop(number: int, frame: object) -> None:
    """Leave as after an error, so that the servers are stopped and their folders removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main(sys.argv[1:]))
