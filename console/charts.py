"""Charts as HTML and SVG, drawn here so that they come with the page and need no script to be seen.

The lines are stretched to whatever width there is; the texts are HTML, so that they keep their size on a phone.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

HEIGHT = WIDTH = 100.0  # of the drawing, in units that are stretched
STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)  # by which an axis may be divided, times a power of ten
X_LABELS = 4

Values = Sequence[float | None]


class Series(NamedTuple):
    name: str
    tone: str  # which colour: the class tone-<tone> of console.css
    values: Values


@dataclass(frozen=True, slots=True)
class Chart:
    about: str  # what it shows, for screen readers
    labels: Sequence[str]  # of the points, left to right
    series: Sequence[Series]
    unit: str = ""

    def __str__(self) -> str:
        return self.html()

    def html(self) -> SafeString:
        top = nice_top(max((value for line in self.series for value in line.values if value is not None), default=0))
        legend = format_html_join("", '<li class="tone-{}">{}</li>', ((line.tone, line.name) for line in self.series))
        marks = format_html_join("", "<span>{}</span>", ((f"{figure(top * part)}{self.unit}",) for part in (1, 0.5, 0)))
        return format_html(
            '<figure class="graph" data-chart="{}">'
            '<figcaption><ul class="legend">{}</ul><output class="readout"></output></figcaption>'
            '<div class="plot"><div class="y-labels" aria-hidden="true">{}</div>'
            '<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg></div>'
            '<div class="x-labels" aria-hidden="true">{}</div></figure>',
            self._points(),
            legend,
            marks,
            self._in_words(),
            mark_safe(_grid() + "".join(_drawn(line, top) for line in self.series)),
            format_html_join("", "<span>{}</span>", ((label,) for label in self._some_labels())),
        )

    def _points(self) -> str:
        return json.dumps(
            {
                "labels": list(self.labels),
                "unit": self.unit,
                "series": [{"name": line.name, "values": [_rounded(v) for v in line.values]} for line in self.series],
            }
        )

    def _some_labels(self) -> list[str]:
        last = len(self.labels) - 1
        if last < 1:
            return list(self.labels)
        return [self.labels[round(last * number / (X_LABELS - 1))] for number in range(X_LABELS)]

    def _in_words(self) -> str:
        parts = [f"{line.name}: {_summary(line.values, self.unit)}" for line in self.series]
        return f"{self.about}. {'; '.join(parts)}."


def spark(values: Values, about: str) -> SafeString:
    """A line the size of a word."""
    top = max((value for value in values if value is not None), default=0)
    path = _path(values, top * 1.05 if top else 1, height=24, width=92)
    return format_html(
        '<svg class="spark" viewBox="0 0 92 24" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path class="{}" d="{}"/></svg>',
        about,
        "" if top else "flat",
        path,
    )


def nice_top(highest: float) -> float:
    """The end of an axis: the next round number."""
    if highest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest))
    return next(step * power for step in STEPS if step * power >= highest * 0.999)


def figure(value: float) -> str:
    """A short number: 950, 1.2 k, 3.4 M."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= limit:
            scaled = value / (limit if limit != 1e4 else 1e3)
            return f"{scaled:.3g}{unit}"
    if value and abs(value) < 10 and value != round(value):
        return f"{value:.2g}"
    return f"{value:,.0f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _summary(values: Values, unit: str) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "nothing yet"
    return f"now {figure(known[-1])}{unit}, at most {figure(max(known))}{unit}"


def _grid() -> str:
    lines = "".join(f'<line class="axis" x1="0" x2="100" y1="{y}" y2="{y}"/>' for y in (0, 50, 100))
    return f"<g>{lines}</g>"


def _drawn(line: Series, top: float) -> str:
    path = _path(line.values, top)
    if not path:
        return ""
    if len(line.values) == 1:  # a point has no length: it is drawn as a level across the chart
        path += f"H{WIDTH:.0f}"
    return f'<path class="series tone-{line.tone}" d="{path}"/>'


def _path(values: Values, top: float, *, height: float = HEIGHT, width: float = WIDTH) -> str:
    """Missing values leave gaps in the line."""
    step = width / max(len(values) - 1, 1)
    drawn: list[str] = []
    pen_is_down = False
    for number, value in enumerate(values):
        if value is None:
            pen_is_down = False
            continue
        y = height - min(value / top, 1) * height
        drawn.append(f"{'L' if pen_is_down else 'M'}{number * step:.2f} {y:.2f}")
        pen_is_down = True
    return "".join(drawn)
