"""Everything that this client raises: one family, so that `except WillowError` catches all of it.

`code` and `key` are for programs and are those of the protocol; `message` is for people and says what to do.
"""

LONGEST_ERROR = 10_000  # characters that the broker keeps of an error


class WillowError(Exception):
    """A call did not succeed. The subclasses say why."""

    def __init__(self, code: str, key: str, message: str) -> None:
        super().__init__(code, key, message)
        self.code = code
        self.key = key
        self.message = message

    def __str__(self) -> str:
        return f"{self.code} ({self.key}): {self.message}" if self.key else f"{self.code}: {self.message}"


# What the broker answers, by its codes.


class NoObject(WillowError):
    """There is no such queue, message or client, or the message is not claimed."""


class ObjectAlreadyExists(WillowError):
    """The name is taken in another form."""


class PermissionDenied(WillowError):
    """This key may not do that, or another client holds the message."""


class BadRequest(WillowError):
    """A field of the command is wrong; `key` names it."""


class TooLarge(WillowError):
    """A body is over the limit; `key` is the limit."""


class Overloaded(WillowError):
    """The queue is full, or the broker has too much under way."""


class Unavailable(WillowError):
    """The broker cannot do it now, or no worker answered in time."""


class Failed(WillowError):
    """The worker that got the request could not answer it; `message` is what it said."""


# What this client finds out by itself.


class BadArgument(BadRequest, ValueError, TypeError):
    """An argument is not what the call takes. It was noticed here; nothing was sent."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__("BadRequest", field, message)


class ConnectionFailed(WillowError, ConnectionError):
    """No broker could be reached at this URL; `key` is the URL."""

    def __init__(self, url: str, reason: str, remedy: str) -> None:
        """`{url}` in the texts stands for the URL."""
        self.url = without_query(url)
        text = f"{reason} {remedy}".replace("{url}", self.url)
        super().__init__("Unavailable", self.url, text)


class Unauthorized(PermissionDenied, ConnectionError):
    """The broker does not let this key, or anybody without one, connect."""

    def __init__(self, url: str) -> None:
        self.url = without_query(url)
        remedy = f"Pass the key that it gave you: connect({self.url!r}, token=…)."
        super().__init__("PermissionDenied", "token", f"The broker at {self.url} does not accept this key. {remedy}")


class ConnectionLost(WillowError, ConnectionError):
    """The connection ended before the answer came: the command may have been carried out or not."""

    def __init__(self, message: str) -> None:
        super().__init__("Unavailable", "connection", message)


class Timeout(Unavailable, TimeoutError):
    """The answer did not come within the call's `timeout`."""

    def __init__(self, message: str) -> None:
        super().__init__("Unavailable", "timeout", message)


class ClaimLost(NoObject):
    """The message is not this client's any more: its time ran out, or its session ended."""


class Dropped(WillowError):
    """A posted message was given up and moved to the dead letter queue."""


_BY_CODE: dict[str, type[WillowError]] = {
    kind.__name__: kind
    for kind in (NoObject, ObjectAlreadyExists, PermissionDenied, BadRequest, TooLarge, Overloaded, Unavailable, Failed)
}


def without_query(url: str) -> str:
    """As it may be shown: a key may stand in the rest."""
    return url.partition("?")[0]


def broker_error(code: str, key: str, message: str) -> WillowError:
    """What the broker said, as the exception of its code. Codes of newer brokers are plain `WillowError`s."""
    return _BY_CODE.get(code, WillowError)(code, key, message)


def told_to_broker(error: BaseException) -> str:
    """The caller's own failure as the broker keeps it: no NUL, nothing that is not text, not without end."""
    return as_told(f"{type(error).__name__}: {error}")


def as_told(text: str) -> str:
    return text[:LONGEST_ERROR].replace("\0", "\ufffd").encode(errors="replace").decode()
