"""How lines of other packages are shortened before they are logged."""

import logging

from delivery.gateway.refused import FewLines
from delivery.wakeups.outage import redis_outage

MOST_LETTERS = 300  # of what a stranger can choose


class RedisOutages(logging.Filter):
    """channels_redis reports a Redis that is gone with a traceback every second: our one line is enough."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1]:
            redis_outage.noticed(record.exc_info[1])
            return False
        return True


class WithoutTraceback(logging.Filter):
    """For failures that are foreseen here, though not where they are logged: the sentence is enough."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info:
            said, reason = record.getMessage(), str(record.exc_info[1])
            record.msg = said if reason in said else f"{said}: {reason}"
            record.args = None
            record.exc_info = None
        return True


class FewRefusals(logging.Filter):
    """Django has a line for each request that it refuses, with all of its path. Anybody can send any number."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = FewLines()

    def filter(self, record: logging.LogRecord) -> bool:
        is_refusal = record.name == "django.request" and record.levelno < logging.ERROR
        if not is_refusal and not record.name.startswith("django.security."):
            return True
        if (untold := self._lines.next()) is None:
            return False
        said = record.getMessage()
        more = f" ({untold} others were refused and not told of one by one.)" if untold else ""
        record.msg, record.args = f"{said[:MOST_LETTERS]}{'…' if len(said) > MOST_LETTERS else ''}{more}", None
        return True
