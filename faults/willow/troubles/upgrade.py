"""From an earlier version to this one, while clients go on."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.willow.cluster import wait_for
from faults.willow.troubles import Scene, Trouble
from willow_site.project_folder import PROJECT_FOLDER


def check_out(revision: str, folder: Path) -> Path:
    """The code of an earlier revision. It uses the packages of this one."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", revision], cwd=PROJECT_FOLDER, check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


@contextmanager
def rolling_upgrade(scene: Scene) -> Iterator[None]:
    """As docs/operating.md says: first the database, then one process after the other."""
    cluster = scene.cluster
    cluster.code = PROJECT_FOLDER
    cluster.migrate()
    for process in (*cluster.reapers, *cluster.nodes):
        process.stop()
        process.code = PROJECT_FOLDER
        process.start()
        if process in cluster.nodes:
            wait_for([node for node in cluster.nodes if node is process])
    yield


ROLLING_UPGRADE = Trouble("rolling upgrade", "brokers", rolling_upgrade, (0, 0))
