"""The data pipeline: what it costs the broker, how its time grows, and what other engines need for the same facts."""

from benchmarks import report
from benchmarks.figures import Figure
from benchmarks.pipeline import beside_broker, engines, growth, sizes
from benchmarks.scale import Scale
from benchmarks.stage import stage


def measure_pipeline(scale: Scale) -> list[Figure]:
    figures: list[Figure] = []
    report.print_heading()
    with stage() as prepared:
        for part in (sizes, growth, engines, beside_broker):
            prepared.begin_scenario(None)
            found = part.run(prepared, scale)
            report.print_figures(found)
            figures += found
    return figures
