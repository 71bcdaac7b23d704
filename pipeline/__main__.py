"""`python -m pipeline`, and what spark-submit starts."""

import logging
import signal
import sys

from pipeline.command import main


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


# As Ctrl-C: the run is written down as stopped, and Spark's scratch folder goes.
signal.signal(signal.SIGTERM, signal.default_int_handler)
logging.getLogger().addFilter(_is_no_interrupt)  # py4j tells of Ctrl-C with a traceback
logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of what it could not roll back then; that is seen to
sys.exit(main(sys.argv[1:]))
