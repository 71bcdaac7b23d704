"""Where several processes run the tests, each has servers of its own: what the journal has settled, for one, depends on
all transactions of a server. pytest loads this before anything reads the settings.
"""

import json
import os


def take_own_servers() -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER")  # gw0, gw1, …; none in the process that hands out the tests
    if worker is not None:
        os.environ.update(json.loads(os.environ.pop("SERVERS_OF_TESTS"))[int(worker.removeprefix("gw"))])
        del os.environ["PYTEST_PLUGINS"]  # not for those that tests start


take_own_servers()
