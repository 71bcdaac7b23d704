"""What a caller must be ready to catch."""


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
