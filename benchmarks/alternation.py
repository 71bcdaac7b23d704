"""Measuring two things by turns, so that a machine that is slow for a while is slow for both."""

from collections.abc import Callable


def alternate(runs: int, first: Callable[[], float], second: Callable[[], float]) -> tuple[list[float], list[float]]:
    pairs = [(first(), second()) for _ in range(runs)]
    return [one for one, _ in pairs], [other for _, other in pairs]
