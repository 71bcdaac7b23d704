"""`python -m benchmarks`: runs the scenarios, prints a table and keeps the numbers."""

import argparse
import dataclasses
import importlib.util
import signal
import sys
from pathlib import Path

from benchmarks import report
from benchmarks.figures import Figure
from benchmarks.peers.comparison import compare
from benchmarks.profiling import Profile
from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.scenarios import SCENARIOS
from benchmarks.stage import Stage, stage


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    scale = QUICK if options.quick else FULL
    if options.runs:
        scale = dataclasses.replace(scale, runs=options.runs)
    if options.what == "peers":
        figures = compare(scale)
    elif options.what == "pipeline":
        figures = _measure_pipeline(scale)
    else:
        figures = _run_scenarios(options.only, scale, profiled=options.profile)
    report.write_json(figures, options.json or report.default_file(options.what))
    return 1 if any(figure.passed is False for figure in figures) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./willow bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("willow", "peers", "pipeline"), default="willow")
    parser.add_argument("--quick", action="store_true", help="everything small, in under three minutes")
    parser.add_argument("--runs", type=int, metavar="N", help="of which the medians are taken")
    parser.add_argument("--only", choices=[scenario.NAME for scenario in SCENARIOS], help="one scenario")
    parser.add_argument("--profile", action="store_true", help="show where the broker's CPU time goes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the numbers go")
    return parser


def _measure_pipeline(scale: Scale) -> list[Figure]:
    if importlib.util.find_spec("pyspark") is None:
        sys.exit("PySpark is not installed. `./willow pipeline status` installs it, once.")
    from benchmarks.pipeline import measure_pipeline  # here, because the other benchmarks do without Spark

    return measure_pipeline(scale)


def _run_scenarios(only: str | None, scale: Scale, *, profiled: bool) -> list[Figure]:
    chosen = [scenario for scenario in SCENARIOS if only in (None, scenario.NAME)]
    figures: list[Figure] = []
    report.print_heading()
    with stage() as prepared:
        for scenario in chosen:
            profile = Profile() if profiled else None
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


def _stop(number: int, frame: object) -> None:
    """Leave as after an error, so that the servers are stopped and their folders removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main(sys.argv[1:]))
