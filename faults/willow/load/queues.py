"""The queues of a run, and what is special about each."""

from dataclasses import dataclass

FETCHED, SUBSCRIBED, POPPED = "work-fetched", "work-subscribed", "work-popped"
GROUPED, BOUNDED, SLOWLY_READ = "work-grouped", "work-bounded", "work-slow"
STREAM = "stream"
SERVICE = "echo"
GROUPS = ("red", "green", "blue", "white")
BULK_MESSAGES = 250_000  # in one queue, more or less, so that its history can be judged alone, in little memory


@dataclass(frozen=True)
class LoadQueue:
    name: str
    kind: str = "work"
    retry_limit: int | None = None
    group_in_flight: int | None = None
    max_in_flight: int | None = None
    keep_bodies: bool = True


QUEUES = (
    LoadQueue(FETCHED),
    LoadQueue(SUBSCRIBED, retry_limit=3),
    LoadQueue(POPPED),
    LoadQueue(GROUPED, group_in_flight=1),
    LoadQueue(BOUNDED, max_in_flight=3),
    LoadQueue(SLOWLY_READ),
    LoadQueue(STREAM, kind="stream"),
)


def bulk_queues(messages: int) -> list[LoadQueue]:
    """For so many messages. Their bodies are short, and the history has them."""
    number = max(messages // BULK_MESSAGES, 1)
    return [LoadQueue(f"bulk-{each:03}", keep_bodies=False) for each in range(number)]
