"""`python -m pipeline`, and what spark-submit starts."""

import sys

from pipeline.command import main

sys.exit(main(sys.argv[1:]))
