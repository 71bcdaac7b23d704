"""What a scenario brings home: figures beside their limits, and the bars that they must clear."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class Bar:
    """What a figure's ratio to its limit must reach, or stay below."""

    bound: float
    at_most: bool = False

    def is_cleared_by(self, ratio: float) -> bool:
        return ratio <= self.bound if self.at_most else ratio >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.bound:g}"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Medians over the runs. `limit` is what the figure is held against, measured in the same runs."""

    name: str
    unit: str
    values: Sequence[float]
    limits: Sequence[float] = ()
    bar: Bar | None = None
    notes: dict[str, float] = field(default_factory=dict)  # for whoever wants to know why

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def limit(self) -> float | None:
        return median(self.limits) if self.limits else None

    @property
    def ratio(self) -> float | None:
        """The median of the runs' own ratios: what slows the machine down for a while slows both sides."""
        if not self.limits:
            return None
        return median(value / limit for value, limit in zip(self.values, self.limits, strict=True))

    @property
    def passed(self) -> bool | None:
        if self.bar is None or self.ratio is None:
            return None
        return self.bar.is_cleared_by(self.ratio)
