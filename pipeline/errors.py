"""The one error that ends a run with a sentence instead of a traceback."""


class PipelineError(Exception):
    """What is wrong, and what to do about it."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what} {remedy}".strip())
        self.what = what
        self.remedy = remedy


class AlreadyRunningError(PipelineError):
    """Only one run at a time works on a database."""
