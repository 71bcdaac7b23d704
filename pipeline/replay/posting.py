"""Posting at a rate, a batch at a time, with each answer written down before the next batch."""

import asyncio
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.errors import PipelineError
from pipeline.replay.record import Name, Record
from pipeline.replay.selection import Archived

SDK = Path(__file__).resolve().parent.parent.parent / "sdk"
BATCHES_PER_SECOND = 10
MOST_AT_ONCE = 500  # messages under way

# Refusals that are about one message. Any other would meet the next one, too, and ends the run.
OF_THE_MESSAGE = ("BadRequest", "TooLarge")


@dataclass(frozen=True)
class Target:
    url: str
    key: str | None
    queue: str
    tags: tuple[str, ...] | None  # None: those that the message had


def client_library() -> Any:
    """`willow_client`: installed, or from the checkout."""
    if importlib.util.find_spec("willow_client") is None:
        if not SDK.is_dir():
            raise PipelineError(
                "Replay posts with the package willow_client.", "Install it: it is Willow's folder sdk."
            )
        sys.path.insert(0, str(SDK))
    return importlib.import_module("willow_client")


def post_all(
    messages: Iterator[Archived], target: Target, record: Record, *, rate: float, told: Callable[[], None]
) -> None:
    """Post what is not settled yet; `told` is called after each batch."""
    asyncio.run(_post_all(messages, target, record, rate, told))


async def _post_all(
    messages: Iterator[Archived], target: Target, record: Record, rate: float, told: Callable[[], None]
) -> None:
    library = client_library()
    left = (message for message in messages if not record.is_settled((message.queue_id, message.index)))
    at_once = max(1, min(MOST_AT_ONCE, int(rate / BATCHES_PER_SECOND)))
    loop = asyncio.get_running_loop()
    try:
        async with library.connect(target.url, token=target.key) as client:
            due = loop.time()
            while batch := await asyncio.to_thread(lambda: list(islice(left, at_once))):
                await asyncio.sleep(max(0.0, due - loop.time()))
                due = max(due, loop.time() - 1.0) + len(batch) / rate  # a pause is caught up with for a second at most
                await _post_batch(client, library.WillowError, batch, target, record)
                told()
    except library.Unauthorized as error:  # an OSError, too
        raise PipelineError(
            f"The broker does not let us in: {error.message}", "Pass the key of a client that may post by --key-file."
        ) from None
    except OSError as error:
        raise PipelineError(
            f"The broker cannot be reached at {target.url}: {error}", "Is it up? Is --url right?"
        ) from None


async def _post_batch(
    client: Any, refusal: type[Exception], batch: list[Archived], target: Target, record: Record
) -> None:
    names = [(message.queue_id, message.index) for message in batch]
    again = {name for name in names if record.was_sent(name)}
    record.sending(names)
    posts = (
        client.post(
            target.queue,
            message.body,
            tags=message.tags if target.tags is None else target.tags,
            priority=message.priority,
            headers=message.headers or None,
            group=message.group,
            key=message.key,
            unique=message.unique,
            dedupe=record.dedupe(name),
        )
        for name, message in zip(names, batch, strict=True)
    )
    answers = await asyncio.gather(*posts, return_exceptions=True)
    posted: list[Name] = []
    duplicates: list[Name] = []
    refused: dict[Name, str] = {}
    ending: BaseException | None = None
    for name, answer in zip(names, answers, strict=True):
        if not isinstance(answer, BaseException):
            # What was sent before and is known by its `dedupe` is this replay's own.
            (duplicates if answer.duplicate and name not in again else posted).append(name)
        elif isinstance(answer, refusal) and getattr(answer, "code", None) in OF_THE_MESSAGE:
            refused[name] = str(answer)
        else:
            ending = answer
    record.answered(posted, refused, duplicates)
    if isinstance(ending, refusal):
        raise PipelineError(f"The broker refused the posts: {ending}", "Run the same command again to post the rest.")
    if ending is not None:
        raise ending
