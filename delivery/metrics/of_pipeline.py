"""The last run of the data pipeline. Its process is gone by the time of a scrape, so the database tells."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric

GAUGES = {
    "willow_pipeline_run_age_seconds": ("How long ago the last run ended.", "age"),
    "willow_pipeline_run_seconds": ("How long it took.", "seconds"),
    "willow_pipeline_run_failed": ("Whether it failed.", "failed"),
    "willow_pipeline_run_rows": ("Rows that it archived.", "rows"),
    "willow_pipeline_run_bytes": ("Bytes of the files that it archived them in.", "bytes"),
    "willow_pipeline_run_facts": ("Rows of facts that it computed.", "facts"),
}


def pipeline_families(runs: Sequence[Any]) -> Iterator[Metric]:
    for name, (about, column) in GAUGES.items():
        gauge = GaugeMetricFamily(name, about, labels=["command"])
        for run in runs:
            gauge.add_metric([run.command], getattr(run, column))
        yield gauge
    steps = GaugeMetricFamily("willow_pipeline_step_seconds", "How long each of its steps took.", labels=["step"])
    for run in runs:
        for step, seconds in json.loads(run.steps).items():
            steps.add_metric([step], seconds)
    yield steps
