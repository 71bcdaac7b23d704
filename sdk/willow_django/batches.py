"""What many want at once is done together.

A batch forms while the one before is under way. Nothing waits for a timer: what comes alone is done at once.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Batches(Generic[Question, Answer]):
    """`begin` asks several questions, and brings as many answers. One that is an exception is raised."""

    def __init__(self, begin: "Callable[[Sequence[Question]], asyncio.Future[Sequence[Answer | Exception]]]") -> None:
        self._begin = begin
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._is_asking = False

    async def ask(self, question: Question) -> Answer:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((question, answer))
        if not self._is_asking:
            self._is_asking = True
            loop.call_soon(self._next)  # after others that begin in the same turn
        return await answer

    def _next(self) -> None:
        batch, self._waiting = self._waiting, []
        self._is_asking = bool(batch)
        if batch:
            asked = self._begin([question for question, _ in batch])
            asked.add_done_callback(lambda done: self._answer(batch, done))

    def _answer(
        self,
        batch: list[tuple[Question, "asyncio.Future[Answer]"]],
        done: "asyncio.Future[Sequence[Answer | Exception]]",
    ) -> None:
        if done.cancelled():
            return  # the loop ends, and with it all who wait
        error = done.exception()
        outcomes = [error] * len(batch) if error is not None else done.result()
        for (_, answer), outcome in zip(batch, outcomes, strict=True):
            if answer.done():
                continue
            if isinstance(outcome, BaseException):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)
        self._next()
