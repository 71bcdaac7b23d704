"""Charts and figures as people read them."""

import pytest

from console.charts import Chart, Series, figure, nice_top, spark
from console.templatetags.console import duration, percent, size


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0"), (7, "7"), (0.25, "0.25"), (950, "950"), (9_999, "9,999"), (12_300, "12.3 k"), (3_400_000, "3.4 M")],
)
def test_a_figure_is_as_short_as_it_can_be_understood(value: float, written: str) -> None:
    assert figure(value) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(None, "\N{EN DASH}"), (0.003, "3 ms"), (1, "1 s"), (4.25, "4.2 s"), (59, "59 s"), (60, "1 min"),
     (200, "3 min 20 s"), (7500, "2 h 5 min"), (273_600, "3 d 4 h")],
)  # fmt: skip
def test_a_duration_has_the_unit_that_people_would_use(seconds: float | None, written: str) -> None:
    assert duration(seconds) == written


def test_shares_and_sizes() -> None:
    assert (percent(0.123), size(1_234_567), size(12)) == ("12.3 %", "1.23 MB", "12 B")


@pytest.mark.parametrize(("highest", "top"), [(0, 1), (0.27, 0.3), (7, 8), (10, 10), (11, 15), (230, 250), (999, 1000)])
def test_an_axis_ends_at_a_number_that_people_like(highest: float, top: float) -> None:
    assert nice_top(highest) == pytest.approx(top)


def test_where_a_value_is_missing_the_line_is_too() -> None:
    chart = Chart("Posts", ["a", "b", "c", "d"], [Series("posted", "posted", [1, None, 2, 2])])
    assert 'd="M0.00 50.00M66.67 0.00L100.00 0.00"' in chart.html()


def test_a_chart_says_what_it_shows() -> None:
    chart = Chart(
        "Posts", ["a", "b"], [Series("posted", "posted", [30, 12]), Series("failed", "failed", [])], unit="/min"
    )
    assert 'aria-label="Posts. posted: now 12/min, at most 30/min; failed: nothing yet."' in chart.html()


def test_names_in_a_chart_are_text() -> None:
    chart = Chart("<b>", ["<i>"], [Series("<script>", "posted", [1])])
    assert "<b>" not in chart.html() and "<script>" not in chart.html() and "<i>" not in chart.html()


def test_a_flat_spark_is_drawn_as_such() -> None:
    assert 'class="flat"' in spark([0, 0], "Posts")
    assert 'class="flat"' not in spark([0, 3], "Posts")
