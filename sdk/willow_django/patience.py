"""How long to wait before the database is asked again."""

from collections.abc import Iterator

FIRST_PAUSE = 0.1  # seconds, doubled each time
LONGEST_PAUSE = 5.0


def pauses() -> Iterator[float]:
    """Seconds, without end."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE)
