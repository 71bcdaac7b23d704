"""What a run agrees on with the steps that go on beside it, if somebody follows the journal meanwhile.

Whoever changes the archive or the facts holds `commits`. Facts of days take long, and are computed without it: steps go
on, and `fresh` tells which minutes they have computed since. Those are newer than the run's, which leaves them alone.
"""

import threading
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Beside:
    commits: threading.Lock = field(default_factory=threading.Lock)
    fresh: set[datetime] = field(default_factory=set)
