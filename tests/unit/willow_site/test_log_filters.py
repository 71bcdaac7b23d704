"""Requests that Django refuses: a few lines a minute, whoever sends them."""

import logging

import pytest

from delivery.gateway.refused import LINES, SECONDS, FewLines
from willow_site.log_filters import MOST_LETTERS, FewRefusals


def record(name: str, level: int = logging.WARNING, path: str = "/nowhere") -> logging.LogRecord:
    return logging.LogRecord(name, level, "", 0, "Not Found: %s", (path,), None)


def test_the_next_line_after_a_minute_says_how_many_were_left_out() -> None:
    now = 0.0
    lines = FewLines(lambda: now)
    assert [lines.next() for _ in range(LINES + 3)] == [0] * LINES + [None] * 3
    now = SECONDS
    assert [lines.next(), lines.next()] == [3, 0]


@pytest.mark.parametrize("name", ["django.request", "django.security.DisallowedHost"])
def test_refusals_are_few_and_short(name: str) -> None:
    few = FewRefusals()
    records = [record(name, path="/" + "x" * 16_000) for _ in range(LINES + 1)]
    assert [few.filter(one) for one in records] == [True] * LINES + [False]
    assert len(records[0].getMessage()) == MOST_LETTERS + 1
    assert records[0].getMessage().startswith("Not Found: /xxx")


@pytest.mark.parametrize(("name", "level"), [("django.request", logging.ERROR), ("delivery.node", logging.WARNING)])
def test_everything_else_is_told(name: str, level: int) -> None:
    few = FewRefusals()
    for _ in range(2 * LINES):
        one = record(name, level)
        assert few.filter(one)
        assert one.getMessage() == "Not Found: /nowhere"
