"""The data pipeline: what it costs the broker, how its time grows, and what other engines need for the same facts."""

from collections.abc import Iterable

from benchmarks import report
from benchmarks.figures import Figure
from benchmarks.pipeline import beside_broker, engines, growth, sizes
from benchmarks.scale import Scale
from benchmarks.stage import stage

PARTS = {"sizes": sizes, "growth": growth, "engines": engines, "beside": beside_broker}


def measure_pipeline(scale: Scale, names: Iterable[str]) -> list[Figure]:
    figures: list[Figure] = []
    report.print_heading()
    with stage() as prepared:
        for name in names:
            prepared.begin_scenario(None)
            for figure in PARTS[name].run(prepared, scale):
                report.print_figures([figure])
                figures.append(figure)
    return figures
