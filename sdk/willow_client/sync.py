"""The blocking client: the same methods, for views, scripts, shells and threads.

    from willow_client import sync

    willow = sync.connect("ws://127.0.0.1:8080/connect/")  # may stand in a module: it connects when it is first used
    willow.post("greetings", "hello")

It can be used by any number of threads at once. A process that was forked connects anew, as a client of its own.
"""

import atexit
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from willow_client import client as asynchronous
from willow_client.background import background
from willow_client.blocking import Message, Receipt, Subscription, Worker, Working
from willow_client.bodies import Body
from willow_client.errors import WillowError
from willow_client.forking import after_fork, notice_fork
from willow_client.limits import Limit, NotGiven
from willow_client.message import Message as HeldMessage
from willow_client.options import OptionArguments, Options
from willow_client.posting import Draft, Posted, Progress
from willow_client.receipt import Receipt as FollowedReceipt
from willow_client.worker import WorkerArguments

__all__ = ["Client", "Message", "Receipt", "Subscription", "connect"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def connect(url: str | Sequence[str], **options: Unpack[OptionArguments]) -> "Client":
    """A blocking client. The options are those of `willow_client.connect`."""
    return Client(url, Options(**options))


def _blocking(
    method: Callable[Concatenate[asynchronous.Client, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate["Client", Arguments], Result]:
    """The same method, which returns when it is done."""

    def call(self: "Client", *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        client = self.opened()
        return background.call(method(client, *args, **kwargs), client.flush)

    call.__doc__ = method.__doc__
    call.__name__ = method.__name__
    return call


def _taking_one(
    method: Callable[Concatenate[asynchronous.Client, Arguments], Coroutine[Any, Any, HeldMessage | None]],
) -> Callable[Concatenate["Client", Arguments], Message | None]:
    take = _blocking(method)

    def call(self: "Client", *args: Arguments.args, **kwargs: Arguments.kwargs) -> Message | None:
        message = take(self, *args, **kwargs)
        return None if message is None else Message(message)

    call.__doc__ = method.__doc__
    return call


def _taking_many(
    method: Callable[Concatenate[asynchronous.Client, Arguments], Coroutine[Any, Any, list[HeldMessage]]],
) -> Callable[Concatenate["Client", Arguments], list[Message]]:
    take = _blocking(method)

    def call(self: "Client", *args: Arguments.args, **kwargs: Arguments.kwargs) -> list[Message]:
        return [Message(message) for message in take(self, *args, **kwargs)]

    call.__doc__ = method.__doc__
    return call


class Client:
    """Connects when it is first used, and again after `close` or a fork."""

    def __init__(self, url: str | Sequence[str], options: Options | None = None) -> None:
        self._url = url
        self._options = options
        self._lock = threading.Lock()
        self._client = asynchronous.Client(url, options)  # which checks the arguments
        self._is_new = True
        _clients.add(self)

    def __repr__(self) -> str:
        return repr(self._client)

    def opened(self) -> asynchronous.Client:
        notice_fork()
        if self._is_new or not self._client.is_open:
            self.open()
        return self._client

    @property
    def is_open(self) -> bool:
        """Opened and not closed; it may be reconnecting."""
        notice_fork()
        return self._client.is_open

    def open(self, *, timeout: Limit = NotGiven) -> Self:
        """Connect now, if it is not connected yet."""
        notice_fork()
        with self._lock:
            if not self._is_new and self._client.is_open:
                return self
            client = asynchronous.Client(self._url, self._options)
            background.run(client.open(timeout=timeout))
            self._client, self._is_new = client, False
        return self

    def close(self, *, timeout: float | None = None) -> None:
        """Give back what was not begun, and disconnect."""
        notice_fork()
        with self._lock:
            if self._client.is_open:
                background.run(self._client.close(timeout=timeout))

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def forked(self) -> None:
        """In the new process: the connection is the parent's."""
        background.leave_behind(self._client)
        self._lock = threading.Lock()
        self._client = asynchronous.Client(self._url, self._options)
        self._is_new = True

    def post(self, queue: str, body: Body, **how: Any) -> Any:
        """Post a message: see `willow_client.Client.post`."""
        client = self.opened()
        posted = background.call(client.post(queue, body, **how), client.flush)
        return Receipt(posted) if isinstance(posted, FollowedReceipt) else posted

    def post_to_all(self, queues: Sequence[str], body: Body, **how: Any) -> dict[str, Receipt]:
        """Post a message to all of these queues or, if one refuses it, to none."""
        receipts = background.run(self.opened().post_to_all(queues, body, **how))
        return {name: Receipt(receipt) for name, receipt in receipts.items()}

    def post_many(
        self,
        queue: str,
        messages: Iterable[Body | Draft],
        *,
        window: int = 1000,
        on_progress: Progress | None = None,
        **how: Any,
    ) -> Posted:
        """Post everything that an iterable brings; it runs in the caller's thread, and so does `on_progress`."""
        result, given = Posted(), 0
        left = iter(messages)
        while chunk := list(islice(left, window)):
            posted = background.run(self.opened().post_many(queue, chunk, window=window, **how))
            result.stored += posted.stored
            result.errors |= {given + place: error for place, error in posted.errors.items()}
            given += len(chunk)
            if on_progress is not None:
                on_progress(result)
        return result

    def cancel(self, receipt: Receipt, *, timeout: Limit = NotGiven) -> bool:
        """Take back a message that still waits. Returns False if it was too late."""
        return background.run(self.opened().cancel(receipt.followed, timeout=timeout))

    def result(self, message: Receipt | tuple[int, int], *, timeout: Limit = NotGiven) -> bytes | None:
        """The reply to a message that was posted before: see `willow_client.Client.result`."""
        followed = message.followed if isinstance(message, Receipt) else message
        return background.run(self.opened().result(followed, timeout=timeout))

    fetch = _taking_one(asynchronous.Client.fetch)
    fetch_many = _taking_many(asynchronous.Client.fetch_many)
    pop = _taking_one(asynchronous.Client.pop)
    pop_many = _taking_many(asynchronous.Client.pop_many)
    create = _blocking(asynchronous.Client.create)
    register = _blocking(asynchronous.Client.register)
    request = _blocking(asynchronous.Client.request)

    def finish_many(self, messages: Iterable[Message], *, timeout: Limit = NotGiven) -> None:
        """Finish them together."""
        held = [message.held() for message in messages]
        background.run(self.opened().finish_many(held, timeout=timeout))

    def working(self, message: Message) -> Working:
        """`with`: finishes the message on success, fails it on an exception."""
        return Working(message)

    def subscribe(self, queue: str, **how: Any) -> Subscription:
        """Messages as they come, for `for`."""
        return Subscription(self.opened().subscribe(queue, **how))

    def worker(self, queue: str, handler: Callable[[HeldMessage], Any], **how: Unpack[WorkerArguments]) -> Worker:
        """`with`: works on the messages of a queue in threads until its end, and then drains."""
        return Worker(self.opened().worker(queue, handler, **how))


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _forked() -> None:
    for client in list(_clients):
        client.forked()


def _close_all() -> None:
    for client in list(_clients):
        try:
            client.close()
        except WillowError:
            continue  # the broker finds out by itself


after_fork(_forked)
atexit.register(_close_all)
