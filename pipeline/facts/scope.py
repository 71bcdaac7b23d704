"""Which of the facts are wanted, and how many rows they may come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.schemas import GRAINS


@dataclass(frozen=True)
class Scope:
    grains: tuple[str, ...] = GRAINS
    large: bool = False  # groups may have more values than fit into memory
    late: DataFrame | None = None  # good rows, of those given: only what they change is wanted


EVERYTHING = Scope()


def in_scope(
    happened: Callable[[DataFrame], DataFrame], good_rows: DataFrame, keys: Sequence[str], scope: Scope
) -> DataFrame:
    """What happened, of the good rows: all of it, or all with the keys of something that late rows brought."""
    if scope.late is None:
        return happened(good_rows)
    changed = happened(scope.late).select(*keys).distinct()
    return happened(good_rows).join(F.broadcast(changed), list(keys), "left_semi")
