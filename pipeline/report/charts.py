"""Line charts: the lines as SVG that stretches with the page, the words around them as HTML that does not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from xml.etree.ElementTree import Element

from pipeline.report import wording
from pipeline.report.elements import element

WIDTH, HEIGHT = 1000, 200  # units of the drawing, which is stretched to its place
STEPS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
MOST_MARKS = 7  # dates below the chart

Value = float | None


@dataclass(frozen=True)
class Line:
    """`style` is its class in the stylesheet: what colour, and whether dashed."""

    name: str
    style: str
    values: Sequence[Value]


@dataclass(frozen=True)
class Scale:
    """How values are put into words, and where an axis may end: at least at `steps[0]`."""

    spoken: Callable[[Value], str]
    steps: Sequence[float]

    def end(self, greatest: float) -> float:
        return next((step for step in self.steps if step >= greatest), greatest)


# Halves of all of these are round, too.
COUNTS = Scale(wording.count, [step * 10**power for power in range(12) for step in (2, 4, 10)])
DURATIONS = Scale(
    wording.duration,
    [
        *(step * 10.0**power for power in range(-3, 0) for step in (2, 4, 10)),
        *(2, 4, 10, 20, 30, 60),
        *(60 * minutes for minutes in (2, 4, 10, 20, 30, 60)),
        *(3600 * hours for hours in (2, 4, 10, 24)),
        *(86_400 * step * 10**power for power in range(4) for step in (2, 4, 10)),
    ],
)


def buckets_between(first: datetime, past: datetime, grain: str) -> list[datetime]:
    step = STEPS[grain]
    return [first + step * number for number in range(ceil((past - first) / step))]


def line_chart(title: str, buckets: Sequence[datetime], lines: Sequence[Line], scale: Scale) -> Element:
    spoken = scale.spoken
    top = scale.end(max((value for line in lines for value in line.values if value is not None), default=0.0))
    described = f"{title}. " + " ".join(f"{line.name}: {_summary(line, spoken)}." for line in lines)
    drawing = element(
        "svg",
        *(_grid_line(share) for share in (0.0, 0.5, 1.0)),
        *(part for line in lines for part in _drawn(line, top)),
        *_pointed_at(buckets, lines, spoken),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=described,
    )
    marks = element(
        "div", *(element("span", spoken(top * share)) for share in (1.0, 0.5, 0.0)), class_="scale", aria_hidden="true"
    )
    plot = element("div", marks, drawing, class_="plot")
    return element("figure", element("figcaption", title), _legend(lines), plot, _dates(buckets), class_="chart")


def _summary(line: Line, spoken: Callable[[Value], str]) -> str:
    known = [value for value in line.values if value is not None]
    return f"from {spoken(min(known))} to {spoken(max(known))}, last {spoken(known[-1])}" if known else "no values"


def _position(place: int, of: int) -> float:
    return round((place + 0.5) / of * WIDTH, 1)


def _drawn(line: Line, top: float) -> list[Element]:
    """One stroke for each run of values without a gap; a lone value is a short stroke."""
    runs: list[list[str]] = [[]]
    for place, value in enumerate(line.values):
        if value is None:
            runs.append([])
            continue
        height = round(HEIGHT - value / top * HEIGHT, 1)
        runs[-1].append(f"{_position(place, len(line.values))},{height}")
    return [element("polyline", points=" ".join(_stroke(run)), class_=line.style) for run in runs if run]


def _stroke(run: list[str]) -> list[str]:
    if len(run) > 1:
        return run
    across, height = run[0].split(",")
    return [f"{float(across) - 2:.1f},{height}", f"{float(across) + 2:.1f},{height}"]


def _grid_line(share: float) -> Element:
    height = HEIGHT * share
    return element("line", x1=0, x2=WIDTH, y1=height, y2=height, class_="grid")


def _pointed_at(buckets: Sequence[datetime], lines: Sequence[Line], spoken: Callable[[Value], str]) -> list[Element]:
    """An invisible column over each bucket, which tells its values when pointed at."""
    width = round(WIDTH / max(len(buckets), 1), 1)
    columns = []
    for place, bucket in enumerate(buckets):
        values = ", ".join(f"{line.name} {spoken(line.values[place])}" for line in lines)
        words = element("title", f"{wording.moment(bucket)}: {values}")
        columns.append(
            element("rect", words, x=round(place * width, 1), y=0, width=width, height=HEIGHT, class_="column")
        )
    return columns


def _legend(lines: Sequence[Line]) -> Element:
    entries = (element("span", element("i", class_=line.style, aria_hidden="true"), f" {line.name}") for line in lines)
    return element("div", *entries, class_="legend", aria_hidden="true")


def _dates(buckets: Sequence[datetime]) -> Element:
    """A few days, each below its first bucket."""
    midnights = [place for place, bucket in enumerate(buckets) if bucket.hour == 0]
    every = ceil(len(midnights) / MOST_MARKS) or 1
    marks = [
        element("span", f"{buckets[place]:%b %d}", style=f"left: {place / len(buckets):.1%}")
        for place in midnights[::every]
    ]
    return element("div", *marks, class_="dates", aria_hidden="true")
