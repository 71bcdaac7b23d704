"""What a caller must be ready to catch, and how the caller's own failures are told to the broker."""

LONGEST_ERROR = 10_000  # characters that the broker keeps of an error


class WillowError(Exception):
    """The broker refused a command. `code` and `key` are for programs, `message` is for people."""

    def __init__(self, code: str, key: str, message: str) -> None:
        super().__init__(code, key, message)
        self.code = code
        self.key = key
        self.message = message

    def __str__(self) -> str:
        return f"{self.code} ({self.key}): {self.message}"


class DisconnectedError(WillowError):
    """The connection ended before the answer came: the command may have been carried out or not."""

    def __init__(self, message: str) -> None:
        super().__init__("Unavailable", "connection", message)


def told_to_broker(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
