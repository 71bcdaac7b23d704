"""The process in which all clients run, the broker's and PostgreSQL's own, so that both have the same means."""

import multiprocessing
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import psutil
import uvloop

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class LoadProcess:
    """One process for one coroutine at a time, on uvloop."""

    def __init__(self) -> None:
        # A fresh interpreter: a fork would share the parent's memory and its open sockets.
        self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        self._process = psutil.Process(self.run(_own_pid))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run(
        self,
        load: Callable[Parameters, Awaitable[Result]],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Run a coroutine function of some module, which must be importable by name, and wait for its result."""
        return self._pool.submit(_run_on_uvloop, load, arguments, named).result()

    def cpu_seconds(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system


def _run_on_uvloop(load: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return uvloop.run(load(*arguments, **named))


async def _own_pid() -> int:
    return psutil.Process().pid
