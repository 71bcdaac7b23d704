"""Measuring several things by turns, so that a machine that is slow for a while is slow for all."""

from collections.abc import Callable


def alternate(runs: int, *measurements: Callable[[], float]) -> tuple[list[float], ...]:
    rounds = [[measure() for measure in measurements] for _ in range(runs)]
    return tuple([list(values) for values in zip(*rounds, strict=True)])
