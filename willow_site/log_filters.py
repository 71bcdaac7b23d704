"""How lines of other packages are shortened before they are logged."""

import logging

from delivery.wakeups.outage import redis_outage


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
