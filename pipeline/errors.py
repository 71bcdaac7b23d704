"""The one error that ends a run with a sentence instead of a traceback."""


class PipelineError(Exception):
    """What is wrong, and what to do about it. `details` is for the file that keeps what a sentence cannot say."""

    def __init__(self, what: str, remedy: str = "", *, details: str = "") -> None:
        super().__init__(f"{what} {remedy}".strip())
        self.what = what
        self.remedy = remedy
        self.details = details


class AlreadyRunningError(PipelineError):
    """Only one run at a time works on a database."""
