"""`python -m pipeline`, and what spark-submit starts."""

import signal
import sys

from pipeline.command import main

# As Ctrl-C: the run is written down as stopped, and Spark's scratch folder goes.
signal.signal(signal.SIGTERM, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
