"""Metrics that were gathered for one answer."""

from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.registry import Collector


class Families(Collector):
    """What prometheus_client takes for a registry."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def merged(families: Iterable[Metric]) -> Families:
    """One family of each name, with the samples of all."""
    by_name: dict[str, Metric] = {}
    for family in families:
        if family.name in by_name:
            by_name[family.name].samples = [*by_name[family.name].samples, *family.samples]
        else:
            by_name[family.name] = family
    return Families(list(by_name.values()))
