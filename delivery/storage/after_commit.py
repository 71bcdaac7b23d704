"""What follows a commit: answers, notices, wake-ups, timers, figures.

What is stored stays stored, whatever goes wrong here. So each step is taken for itself: its error is logged, and harms
neither the other steps nor the answer of anybody.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

Item = TypeVar("Item")
Step = Callable[[], None]


class AfterCommit:
    """The steps that follow a batch: some at once, some when the next batch is on its way."""

    __slots__ = ("at_once", "later")

    def __init__(self, *at_once: Step, later: Iterable[Step] = ()) -> None:
        self.at_once = at_once
        self.later = tuple(later)


def guarded(step: Callable[..., None], *arguments: Any) -> None:
    try:
        step(*arguments)
    except Exception:
        logger.exception("A step after a commit failed")


def for_each(step: Callable[[Item], Any], items: Iterable[Item]) -> None:
    """Take a step with each of them, whatever becomes of the others."""
    for item in items:
        try:
            step(item)
        except Exception:
            logger.exception("A step after a commit failed")
